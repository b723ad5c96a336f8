"""Sends small files to the workers while the job runs, and withdraws those no longer needed.

timeline of a batch ──ship──► SparkContext.addFile ──► SparkFiles.get in every worker
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

_KEPT: Final = 2
"""What the last two different batches need is there."""


class ShippedFiles:
    """The files a job has sent to its workers, by name.

    `directory`: where they are until they are withdrawn; workers fetch them from there.
    """

    def __init__(self, spark: SparkSession, directory: Path) -> None:
        self._spark = spark
        self._directory = directory
        self._sets: list[frozenset[str]] = []

    def ship(self, files: Mapping[str, Callable[[], bytes]]) -> None:
        """Make all that a batch needs available to the workers from the next task on.

        `files`: by a name that is unique to the content, what reads it; called for new ones.
        """
        there = frozenset[str]().union(*self._sets)
        for name in files.keys() - there:
            path = self._directory / name
            path.write_bytes(files[name]())
            self._spark.sparkContext.addFile(str(path))
        needed = frozenset(files)
        self._sets = [*(each for each in self._sets if each != needed), needed]
        kept = self._sets[-_KEPT:]
        for name in sorted(there - frozenset[str]().union(*kept)):
            self._withdraw(name)
        self._sets = kept

    def _withdraw(self, name: str) -> None:
        """Remove a file from the list sent with every task; Spark has no call for this."""
        context: Any = self._spark.sparkContext._jsc.sc()  # noqa: SLF001 - there is no other door
        sessions = context.addedFiles().valuesIterator()
        while sessions.hasNext():
            files = sessions.next()
            addresses = files.keysIterator()
            gone = []
            while addresses.hasNext():
                address = addresses.next()
                if address.endswith(f"/{name}"):
                    gone.append(address)
            for address in gone:
                files.remove(address)
        (self._directory / name).unlink(missing_ok=True)

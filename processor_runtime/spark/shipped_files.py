"""Sends small files to the workers while the job runs, and withdraws those no longer needed.

timeline of a batch ──ship──► SparkContext.addFile ──► SparkFiles.get in every worker
"""

from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

_KEPT: Final = 2


class ShippedFiles:
    """The files a job has sent to its workers, by name.

    Args:
        spark: the session.
        directory: where they are until they are withdrawn; workers fetch them from there.
    """

    def __init__(self, spark: SparkSession, directory: Path) -> None:
        self._spark = spark
        self._directory = directory
        self._names: list[str] = []

    def ship(self, name: str, content: bytes) -> None:
        """Make a file available to the workers from the next task on; may be repeated.

        Args:
            name: unique to this content.
            content: the content of the file.
        """
        if name in self._names:
            self._names.remove(name)
            self._names.append(name)
            return
        path = self._directory / name
        path.write_bytes(content)
        self._spark.sparkContext.addFile(str(path))
        self._names.append(name)
        while len(self._names) > _KEPT:
            self._withdraw(self._names.pop(0))

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

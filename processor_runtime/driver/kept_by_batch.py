"""Small files of the checkpoint, one a batch, written before Spark takes the batch for done.

    end of a batch ──keep──► <checkpoint>/<directory>/<batch id> ──of──► the batch after it

A batch that is run again begins with what the batch before it left, and writes the same.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

from processor_runtime.driver.batch_record import RECORDS_KEPT
from processor_runtime.driver.checked_files import Files

Kept = TypeVar("Kept")


class KeptByBatch(Generic[Kept]):
    """A file for each batch after which there is something to keep."""

    def __init__(
        self,
        files: Files,
        directory: str,
        write: Callable[[Kept], bytes],
        read: Callable[[bytes], Kept],
    ) -> None:
        self._files = files
        self._directory = directory
        self._write = write
        self._read = read
        self._there: set[int] | None = None

    def of(self, batch_id: int) -> Kept | None:
        """Return what was kept after a batch; `None` if nothing was."""
        data = self._files.read(f"{self._directory}/{batch_id}")
        return None if data is None else self._read(data)

    def keep(self, batch_id: int, kept: Kept, *, is_asked: bool) -> None:
        """Keep something after a batch; even nothing, if that `is_asked`."""
        there = self._batches_there()
        # Of a batch that is run again there may be a file; else nothing is asked of the checkpoint.
        if kept or is_asked:
            self._files.write(f"{self._directory}/{batch_id}", self._write(kept))
            there.add(batch_id)
        elif batch_id in there:
            self._forget(batch_id)
        if batch_id % RECORDS_KEPT == 0:
            for old in [each for each in there if each < batch_id - RECORDS_KEPT]:
                self._forget(old)

    def _batches_there(self) -> set[int]:
        """Return the batches that have a file; the directory is read once."""
        if self._there is None:
            names = self._files.names(self._directory)
            self._there = {int(name) for name in names if name.isdecimal()}
        return self._there

    def _forget(self, batch_id: int) -> None:
        self._files.delete(f"{self._directory}/{batch_id}")
        self._batches_there().discard(batch_id)

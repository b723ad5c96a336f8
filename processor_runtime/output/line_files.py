"""Lines of a shard in files, where its worker is on the machine that has the output's directory.

    RowLines ──send──► files beside the batches ──names, in the status──► driver moves them
                └──────► whatever cannot be written goes on, to `InlineLines` or through Spark

On their way through Spark lines are copied again and again, which costs about as much as to make
them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final
from uuid import uuid4

from processor_runtime.output.row_columns import RowLines
from processor_runtime.rows.line_route import LineDirectory
from processor_runtime.rows.output_rows import OutputRow

ROWS_PER_FILE: Final = 100_000


@dataclass(slots=True)
class LineFiles:
    """The files of one shard and batch.

    `directory`: where they are; `None` if there is none that can be written to.
    """

    directory: LineDirectory | None
    _counts: dict[str, int] = field(default_factory=dict)
    _file: BinaryIO | None = None
    _is_known: bool = False

    def send(self, rows: Sequence[OutputRow]) -> Iterator[Sequence[OutputRow]]:
        """Yield what has not been written."""
        if not isinstance(rows, RowLines) or not self._has_written(rows):
            yield rows

    def close(self) -> Mapping[str, int]:
        """Close the files, and return how many lines each has.

        Raises:
            OSError: the disk tells only now that it has not taken all.
        """
        if self._file is not None:
            try:
                self._file.close()
            except OSError as error:
                raise OSError(error.errno, error.strerror, self._file.name) from None
        return {path: count for path, count in self._counts.items() if count}

    def _has_written(self, rows: RowLines) -> bool:
        """Write lines as a whole, or not at all; then none are written any more."""
        if self.directory is None:
            return False
        if not self._is_known and not self.directory.is_ours():
            self.directory = None
            return False
        self._is_known = True
        try:
            file = self._opened(self.directory)
            begin = file.tell()
        except OSError:
            self.directory = None
            return False
        try:
            _write_all(file, rows.buffer)
            _write_all(file, b"\n")
        except OSError:
            # To write them again is left to Spark: if it fails, too, the output is named.
            file.truncate(begin)
            self.directory = None
            return False
        self._counts[str(file.name)] += len(rows)
        return True

    def _opened(self, directory: LineDirectory) -> BinaryIO:
        if self._file is not None:
            if self._counts[str(self._file.name)] < ROWS_PER_FILE:
                return self._file
            self._file.close()
        Path(directory.path).mkdir(parents=True, exist_ok=True)
        path = Path(directory.path, f"{uuid4().hex}.json")
        # Without a buffer: what could not be written must not be tried again when it is closed.
        self._file = path.open("xb", buffering=0)
        self._counts[str(path)] = 0
        return self._file


def _write_all(file: BinaryIO, content: bytes | memoryview) -> None:
    """Write all of it, in as many parts as the system takes: the file has no buffer."""
    rest = memoryview(content)
    while rest:
        rest = rest[file.write(rest) :]

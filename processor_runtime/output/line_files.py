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
from processor_runtime.rows.output_rows import OutputRow

ROWS_PER_FILE: Final = 100_000


@dataclass(frozen=True, slots=True)
class LineDirectory:
    """A directory for files that belong to no batch yet, on the machine of the workers.

    Args:
        path: the directory; it need not exist.
        owner_path: the file that says whose the directory around it is.
        owner: what that has to say. The job writes it with its first batch.
    """

    path: str
    owner_path: str
    owner: str

    def is_ours(self) -> bool:
        """Return whether it is known that files may be written."""
        try:
            return Path(self.owner_path).read_text(encoding="utf-8") == self.owner
        except (OSError, UnicodeDecodeError):
            return False


@dataclass(frozen=True, slots=True)
class LineRoute:
    """Where lines of a shard go that are not sent through Spark.

    `directory` is for all of them, as far as it can be written to. Of the others so many bytes go
    with the status of the shard; see `InlineLines`.
    """

    most_bytes_in_hand: int = 0
    directory: LineDirectory | None = None


@dataclass(frozen=True, slots=True)
class BatchLines:
    """Matches of a batch that are lines, and not among its rows.

    Args:
        in_hand: lines of JSON; each text is some of them, without the end of the last.
        files: files of this machine, to be moved, and how many lines each has.
    """

    in_hand: Sequence[bytes] = ()
    files: Mapping[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return the number of lines."""
        return sum(each.count(b"\n") + 1 for each in self.in_hand) + sum(self.files.values())


@dataclass(slots=True)
class LineFiles:
    """The files of one shard and batch.

    Args:
        directory: where they are; `None` if there is none that can be written to.
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
            self._file.close()
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

"""Rows put in order, however many: in memory, or by way of files.

    frames ──as many as fit──► sorted ──► slices
                 └─ else: sorted runs on disk ──merged, block by block──► slices

A block is read when its first row is next, and rows are out once they are before the first row of
every block that is not read. So nothing is compared but by Polars, which sorts by one column at a
time, the last one first: that is several times faster than by all of them.

Source: external merge sort (Knuth, The Art of Computer Programming 3, 5.4); sorting by the least
significant key first (5.2.5).
"""

import errno
import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from typing import IO, Final

import polars as pl

ROWS_PER_SLICE: Final = 200_000
_PLACE: Final = "_percept_place"
_BLOCKS_IN_MEMORY: Final = 512
"""Small blocks let many runs be merged at a time, as something of each is held."""
_MOST_RUNS: Final = 64
"""How many are merged at a time, each a file: a block of each is an eighth of the memory."""


class SpillError(OSError):
    """Rows that do not fit into memory could not be written to disk, or read again."""


@dataclass(frozen=True, slots=True)
class SortColumn:
    """A column to sort by. NaN is the greatest number, -0.0 equals 0.0, texts go by code points."""

    name: str
    is_descending: bool = False
    nulls_last: bool = True


@dataclass(frozen=True, slots=True)
class ExternalSort:
    """How to sort, and what may be held.

    Args:
        columns: what to sort by, the most significant first; rows should differ in one of them.
        most_bytes: how much memory sorting may take, for rows and their sorted copy together. A
            single frame of the input, and a block of each run, may be more.
        directory: where to write what does not fit. The files have no names: they are gone when
            the sorting ends, however it does.
    """

    columns: tuple[SortColumn, ...]
    most_bytes: int
    directory: str

    def sorted(self, frames: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """Yield the rows of frames in order, in slices.

        Raises:
            SpillError: they do not fit, and cannot be written to disk.
        """
        with ExitStack() as files:
            runs: list[_Run] = []
            held: list[pl.DataFrame] = []
            size = 0
            for frame in filter(len, frames):
                if held and size + _bytes_of(frame) > self.most_bytes // 2:
                    runs.append(self._run([self._all_sorted(held)], files))
                    size = 0
                held.append(frame)
                size += _bytes_of(frame)
            if runs:
                runs.append(self._run([self._all_sorted(held)], files))
                yield from self._merged(self._few(runs, files))
            elif held:
                yield from self._all_sorted(held).iter_slices(ROWS_PER_SLICE)

    def _all_sorted(self, frames: list[pl.DataFrame]) -> pl.DataFrame:
        """Return the rows of frames in order; the list is empty then, as they take memory."""
        frame = pl.concat(frames, rechunk=True)
        frames.clear()
        return frame[self._places(frame)]

    def _places(self, frame: pl.DataFrame) -> pl.Series:
        """Return the places of the rows of a frame, in order."""
        columns = _least_first(self.columns)
        rows = frame.select(column.name for column in columns).with_row_index(_PLACE)
        for column in columns:
            rows = rows.sort(
                column.name,
                descending=column.is_descending,
                nulls_last=column.nulls_last,
                maintain_order=True,
            ).drop(column.name)
        return rows.get_column(_PLACE)

    # What does not fit

    def _run(self, frames: Iterable[pl.DataFrame], files: ExitStack) -> "_Run":
        """Write sorted rows as a run, whose file is one of `files`."""
        names = [column.name for column in _least_first(self.columns)]
        try:
            # Closing a file with a buffer would write what a full disk has not taken once more.
            file = TemporaryFile(dir=self.directory, buffering=0)  # noqa: SIM115 - `files` ends it
            run = _Run(files.enter_context(file), names)
            for frame in frames:
                run.append(frame, self.most_bytes // _BLOCKS_IN_MEMORY)
        except SpillError:
            raise
        except OSError as error:
            raise self._failure(error) from error
        return run

    def _few(self, runs: "list[_Run]", files: ExitStack) -> "list[_Run]":
        """Return runs that can be merged at a time; what is left of others is closed."""
        while len(runs) > _MOST_RUNS:
            first, runs = runs[:_MOST_RUNS], runs[_MOST_RUNS:]
            runs.append(self._run(self._merged(first), files))
            for run in first:
                run.file.close()
        return runs

    def _merged(self, runs: "Sequence[_Run]") -> Iterator[pl.DataFrame]:
        """Yield the rows of runs in order."""
        firsts = pl.concat([first for run in runs for first in run.firsts], rechunk=True)
        blocks = [(run, block) for run in runs for block in run.blocks]
        places = self._places(firsts).to_list()
        waiting: list[pl.DataFrame] = []
        size = 0
        for place, following in zip(places, [*places[1:], None], strict=True):
            run, block = blocks[place]
            waiting.append(self._read(run, block))
            size += _bytes_of(waiting[-1])
            if following is None:
                yield from self._all_sorted(waiting).iter_slices(ROWS_PER_SLICE)
            elif size > self.most_bytes // 4:  # read, joined, sorted, and the last ones still out
                before, rest = self._cut(waiting, firsts[following])
                yield from before.iter_slices(ROWS_PER_SLICE)
                waiting.append(_detached(rest))
                size = _bytes_of(rest)
                del before, rest

    def _cut(
        self, frames: list[pl.DataFrame], first: pl.DataFrame
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the rows in order that are before a row, and the rest; the list is empty then."""
        frame = pl.concat(frames, rechunk=True)
        frames.clear()
        places = self._places(pl.concat([frame.select(first.columns), first], rechunk=True))
        cut = (places == len(frame)).arg_max() or 0
        return frame[places[:cut]], frame[places[cut + 1 :]]

    def _read(self, run: "_Run", block: tuple[int, int]) -> pl.DataFrame:
        try:
            return run.read(block)
        except OSError as error:
            raise self._failure(error) from error

    def _failure(self, error: OSError) -> SpillError:
        reason = error.strerror or str(error)
        return SpillError(
            error.errno,
            f"the rows of a task take more than {self.most_bytes:,} bytes to sort, and could not "
            f"be kept in files in {self.directory} meanwhile: {reason}",
        )


def _least_first(columns: Sequence[SortColumn]) -> list[SortColumn]:
    """Return the columns in reverse order; of one that comes twice, what sorts the rows."""
    first: dict[str, SortColumn] = {}
    for column in columns:
        first.setdefault(column.name, column)
    return list(reversed(first.values()))


@dataclass(slots=True)
class _Run:
    """Sorted rows in a file, block by block: where each begins, its length, and its first row.

    Of first rows there are the columns `names`.
    """

    file: IO[bytes]
    names: Sequence[str]
    blocks: list[tuple[int, int]] = field(default_factory=list)
    firsts: list[pl.DataFrame] = field(default_factory=list)

    def append(self, frame: pl.DataFrame, block_bytes: int) -> None:
        """Write rows behind those that are there.

        Raises:
            OSError: they cannot be written.
        """
        rows = max(1, len(frame) * block_bytes // max(1, _bytes_of(frame)))
        for block in frame.iter_slices(rows):
            data = _encoded(block)
            self.blocks.append((self.file.tell(), len(data)))
            rest = memoryview(data)
            while rest:
                rest = rest[self.file.write(rest) :]
            self.firsts.append(_detached(block[:1].select(self.names)))

    def read(self, block: tuple[int, int]) -> pl.DataFrame:
        """Return the rows of a block.

        Raises:
            OSError: they cannot be read.
        """
        begin, length = block
        self.file.seek(begin)
        data = self.file.read(length)
        if len(data) < length:
            raise OSError(errno.EIO, "a file has become shorter")
        return _decoded(data)


def _bytes_of(frame: pl.DataFrame) -> int:
    return int(frame.estimated_size())


def _encoded(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_ipc_stream(buffer, compression="lz4")
    return buffer.getvalue()


def _decoded(data: bytes) -> pl.DataFrame:
    return pl.read_ipc_stream(io.BytesIO(data))


def _detached(rows: pl.DataFrame) -> pl.DataFrame:
    """Return a copy of rows out of a frame; texts would keep all those of the frame in memory."""
    return _decoded(_encoded(rows))

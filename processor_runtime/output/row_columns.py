"""Many rows of output at once, as they leave a worker: an Arrow batch instead of an object each.

finds in columns ──► RowColumns ──► Spark, as it is
                           └──► OutputRow, one by one, for who wants them
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NoReturn, overload

import numpy as np
import pyarrow as pa

from processor_runtime.rows.output_rows import OutputRow, RowKind

LINES: Final = "lines"

ARROW_SCHEMA: Final = pa.schema(
    {
        "kind": pa.string(),
        "tag": pa.string(),
        "processor_id": pa.string(),
        "version": pa.int32(),
        "epoch": pa.int64(),
        "key": pa.string(),
        "match_id": pa.string(),
        "start_ms": pa.int64(),
        "end_ms": pa.int64(),
        "output": pa.string(),
        "events": pa.string(),
        "error": pa.string(),
        LINES: pa.binary(),
    }
)
"""`output_rows.SCHEMA` as Spark has it, and the lines of `RowLines`, NULL for rows in columns."""


class RowColumns(Sequence[OutputRow]):
    """Rows of output in columns.

    `batch`: columns of `ARROW_SCHEMA`.
    """

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = batch

    @overload
    def __getitem__(self, place: int) -> OutputRow: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[OutputRow]: ...

    def __getitem__(self, place: int | slice) -> OutputRow | Sequence[OutputRow]:
        if isinstance(place, slice):
            return list(self)[place]
        return OutputRow(*(column[place].as_py() for column in self.batch.columns[:-1]))

    def __len__(self) -> int:
        count: int = self.batch.num_rows
        return count

    def __iter__(self) -> Iterator[OutputRow]:
        columns = [column.to_pylist() for column in self.batch.columns[:-1]]
        return map(OutputRow._make, zip(*columns, strict=True))


class RowLines(Sequence[OutputRow]):
    """Rows of output that are lines of JSON already: they are counted and written, and no more.

    `lines`: what a file has of them, UTF-8, without the end of the last line.
    """

    def __init__(self, kind: RowKind, count: int, lines: pa.Buffer) -> None:
        self.kind = kind
        self._count = count
        self._lines = lines

    def __getitem__(self, place: object) -> NoReturn:
        raise TypeError("RowLines is already serialised; it cannot be indexed")

    def __len__(self) -> int:
        return self._count

    @property
    def size_bytes(self) -> int:
        """How many bytes the lines have."""
        size: int = self._lines.size
        return size

    @property
    def buffer(self) -> memoryview:
        """The lines, not copied."""
        return memoryview(self._lines)

    @property
    def text(self) -> bytes:
        """The lines."""
        text: bytes = self._lines.to_pybytes()
        return text

    @property
    def batch(self) -> pa.RecordBatch:
        """One row of `ARROW_SCHEMA`, all lines in it."""
        borders = pa.py_buffer(np.array([0, self._lines.size], np.int32))
        lines = pa.BinaryArray.from_buffers(pa.binary(), 1, [None, borders, self._lines])
        return batch_of({"kind": pa.array([self.kind], pa.string()), LINES: lines}, 1)


def batch_of(columns: Mapping[str, pa.Array], count: int) -> pa.RecordBatch:
    """Return rows of which all other columns are NULL."""
    return pa.RecordBatch.from_arrays(
        [columns.get(each.name, pa.nulls(count, each.type)) for each in ARROW_SCHEMA],
        schema=ARROW_SCHEMA,
    )

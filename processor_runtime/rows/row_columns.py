"""Many rows of output at once, as they leave a worker: an Arrow batch instead of an object each.

finds in columns ──► RowColumns ──► Spark, as it is
                           └──► OutputRow, one by one, for who wants them
"""

from collections.abc import Iterator, Sequence
from typing import Final, overload

import pyarrow as pa

from processor_runtime.rows.output_rows import OutputRow

LINE: Final = "line"

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
        LINE: pa.string(),
    }
)
"""`output_rows.SCHEMA` as Spark has it, and the whole row as JSON, or NULL; see `row_lines`."""


class RowColumns(Sequence[OutputRow]):
    """Rows of output in columns.

    Args:
        batch: columns of `ARROW_SCHEMA`. Rows with a line have only their kind beside it.
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

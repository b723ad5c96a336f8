"""Parquet files as frames of events, where their columns have just the types of the stream's.

    file ──row groups──► batches of Arrow ──events──► frame · NotPlain

What is widened, missing, given by the name of a directory, or written by older calendars is left to
Spark, which has rules for it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import SEEK_END
from typing import BinaryIO, Final

import polars as pl
import pyarrow as pa
from pyarrow import parquet

from cep.expression.types import PolarsType
from processor_runtime.rows.plain_form import AFTER_LAST_INSTANT, FIRST_INSTANT, TIMESTAMP, NotPlain
from processor_runtime.rows.valid_text import with_valid_text

_ROWS: Final = 200_000
_BYTES: Final = 64 << 20
"""So many rows, and bytes of them, are in memory at once."""
_READ_AS: Final[Mapping[PolarsType, tuple[pa.DataType, ...]]] = {
    pl.String(): (pa.string(), pa.large_string()),
    pl.Int16(): (pa.int16(),),
    pl.Int32(): (pa.int32(),),
    pl.Int64(): (pa.int64(),),
    pl.Float64(): (pa.float64(),),
    pl.Boolean(): (pa.bool_(),),
    TIMESTAMP: (pa.timestamp("us", "UTC"), pa.timestamp("ms", "UTC")),
}


@dataclass(frozen=True, slots=True)
class ParquetForm:
    """What the files of a source have.

    `columns` are those of the stream with the types they are read as; `names` is what the files
    call them.
    """

    columns: Mapping[str, PolarsType]
    names: tuple[str, ...]

    def events(self, file: BinaryIO, length: int) -> Iterator[pl.DataFrame]:
        """Yield the events of a file; see `PlainForm`."""
        try:
            opened = parquet.ParquetFile(file)
            if file.seek(0, SEEK_END) != length:
                raise NotPlain("it is not as large as it was")
            self._check(opened.schema_arrow)
            rows = rows_at_once(opened.metadata)
            for batch in opened.iter_batches(rows, columns=list(self.names)):
                yield self._frame(batch)
        except pa.ArrowException as error:
            raise NotPlain(str(error)) from None

    def look_into(self, file: BinaryIO) -> None:
        """See whether a file has the columns; see `PlainForm`."""
        try:
            self._check(parquet.read_schema(file))
        except pa.ArrowException as error:
            raise NotPlain(str(error)) from None

    def _check(self, schema: pa.Schema) -> None:
        small = [name.lower() for name in schema.names]
        for name, wanted in zip(self.names, self.columns.values(), strict=True):
            if name not in schema.names or small.count(name.lower()) > 1:
                raise NotPlain(f"no column {name}, or several")
            if schema.field(name).type not in _READ_AS[wanted]:
                raise NotPlain(f"a column {name} of type {schema.field(name).type}")

    def _frame(self, batch: pa.RecordBatch) -> pl.DataFrame:
        frame = pl.DataFrame(pl.from_arrow(with_valid_text(batch)))
        for instants in frame.select(pl.selectors.datetime()):
            if not ((instants >= FIRST_INSTANT) & (instants < AFTER_LAST_INSTANT)).all():
                raise NotPlain("a time before 1970 or after 2099")
        named = zip(self.names, self.columns.items(), strict=True)
        return frame.select(
            pl.col(at_source).cast(data_type).alias(name) for at_source, (name, data_type) in named
        )


def rows_at_once(metadata: parquet.FileMetaData) -> int:
    """Return how many rows of a file are read at once, fewer if they are large."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    size = sum(int(group.total_byte_size) for group in groups)
    return max(1, min(_ROWS, _BYTES * int(metadata.num_rows) // max(size, 1)))

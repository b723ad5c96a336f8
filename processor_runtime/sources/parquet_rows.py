"""Parquet files → the columns of a stream, by their names, whatever their case.

    file ──row groups──► batches of Arrow ──ParquetRows──► columns with the types of the stream

Types become wider; the driver has seen that they may. INT96 is an instant of UTC, and calendars
before 1582 are not turned into others: it is what Arrow reads.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import SEEK_END
from typing import Any, BinaryIO, Final

import polars as pl
import pyarrow as pa
from pyarrow import compute, parquet

from processor_runtime.rows.valid_text import with_valid_text
from processor_runtime.sources.directories import NO_DIRECTORIES, column_value
from processor_runtime.sources.text_columns import text_column
from processor_runtime.sources.values import Decoded, UnreadableFile

_ROWS: Final = 200_000
_BYTES: Final = 64 << 20
"""So many rows, and bytes of them, are in memory at once."""


@dataclass(frozen=True, slots=True)
class ParquetRows:
    """Reads files of Parquet; a column that a file lacks is NULL.

    `columns` are those of the stream, and `names` what files call them, in the same order; empty =
    the same.
    """

    columns: pa.Schema
    names: tuple[str, ...] = ()

    def read(
        self, file: BinaryIO, length: int, directories: Mapping[str, str | None] = NO_DIRECTORIES
    ) -> Iterator[Decoded]:
        """Yield the events of a file; see `FileReader`. Nothing is in a file without an octet."""
        if not length:
            return
        if file.seek(0, SEEK_END) != length:
            raise UnreadableFile("it is not as large as it was when it was found")
        opened = parquet.ParquetFile(file, coerce_int96_timestamp_unit="us")
        places = [_found(opened.schema_arrow.names, each) for each in self.names or self._own]
        given = {
            each.name: column_value(directories, name, text_column(each))
            for place, name, each in zip(places, self.names or self._own, self.columns, strict=True)
            if place is None and name.lower() in directories
        }
        wanted = [each for each in places if each is not None]
        for batch in opened.iter_batches(rows_at_once(opened.metadata), columns=wanted):
            arrays = [
                pa.nulls(len(batch), each.type) if name is None else _column(batch, name, each.type)
                for name, each in zip(places, self.columns, strict=True)
            ]
            rows = pa.RecordBatch.from_arrays(arrays, self._own)
            frame = pl.DataFrame(pl.from_arrow(with_valid_text(rows)))
            same = (
                value.new_from_index(0, len(frame)).cast(frame.schema[name]).alias(name)
                for name, value in given.items()
            )
            yield Decoded(frame.with_columns(*same))

    @property
    def _own(self) -> list[str]:
        names: list[str] = self.columns.names
        return names


def _found(names: list[str], name: str) -> str | None:
    """Return what a file calls a column; `None` if it has none.

    Raises:
        UnreadableFile: it has several.
    """
    found = [each for each in names if each.lower() == name.lower()]
    if len(found) > 1:
        raise UnreadableFile(
            f"its columns {', '.join(found)} have the same name but for capital letters"
        )
    return found[0] if found else None


def _column(batch: pa.RecordBatch, name: str, wanted: pa.DataType) -> pa.Array:
    """Return a column as a type that takes each of its values.

    Raises:
        UnreadableFile: it is of a type that cannot become the other, or a value does not fit.
    """
    found = batch.column(batch.schema.get_field_index(name))
    if found.type == wanted:
        return found
    try:
        spelled = _spelled(found.type, wanted)
        named = found if spelled == found.type else found.view(spelled)
        return named.cast(options=compute.CastOptions(wanted, allow_invalid_utf8=True))
    except (pa.ArrowException, TypeError) as error:
        message = f"its column '{name}' is {found.type}, which is no {wanted}"
        raise UnreadableFile(f"{message}: {error}") from None


def _spelled(given: pa.DataType, wanted: pa.DataType) -> pa.DataType:
    """Return a type with the names of fields inside it as another type writes them.

    Raises:
        TypeError: Arrow would read a text as a number, or write one.
    """
    if pa.types.is_struct(given) and pa.types.is_struct(wanted):
        fields = {each.name.lower(): each for each in wanted}
        return pa.struct([_spelled_field(each, fields.get(each.name.lower())) for each in given])
    if pa.types.is_map(given) and pa.types.is_map(wanted):
        key = _spelled(given.key_type, wanted.key_type)
        return pa.map_(key, _spelled(given.item_type, wanted.item_type))
    if pa.types.is_list(given) and pa.types.is_list(wanted):
        item = given.value_field
        return pa.list_(item.with_type(_spelled(item.type, wanted.value_type)))
    if _is_text(given) != _is_text(wanted):
        raise TypeError("one is text, the other is not")
    return given


def _spelled_field(given: pa.Field, wanted: pa.Field | None) -> pa.Field:
    if wanted is None:
        return given
    return given.with_name(wanted.name).with_type(_spelled(given.type, wanted.type))


def _is_text(data_type: Any) -> bool:
    return "string" in str(data_type) or "binary" in str(data_type)


def rows_at_once(metadata: parquet.FileMetaData) -> int:
    """Return how many rows of a file are read at once, fewer if they are large."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    size = sum(int(group.total_byte_size) for group in groups)
    return max(1, min(_ROWS, _BYTES * int(metadata.num_rows) // max(size, 1)))

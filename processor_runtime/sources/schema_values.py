"""Values in Avro and Protobuf → the columns of a stream, each by the schema that it names.

values ──decoding──► parts: columns as their schemas have them
    one type for another ──Polars──► columns of the stream
    any other ──value by value──► columns of the stream, or which do not fit
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

import polars as pl
import pyarrow as pa

from cep.events.values import Reader, value_reader
from cep.expression import DataType, Kind
from cep.expression.types import STRING, TIMESTAMP, PolarsType
from processor_runtime.kafka.formats.decoding import ValueForm, parts_of
from processor_runtime.kafka.formats.parts import Column, Part
from processor_runtime.rows.json_text import NoJson, json_text
from processor_runtime.sources.column_values import (
    Misfits,
    bytes_of_text,
    column_reader,
    plain_type,
    read_each,
    with_parts,
)
from processor_runtime.sources.values import NULL_VALUE, Decoded, Malformed, misfit_reason

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class SchemaValues:
    """Reads values with schemas.

    `form`: how they are written. `columns`: names of fields, and types.
    """

    form: ValueForm
    columns: pa.Schema

    def read(self, values: Sequence[bytes | None]) -> Decoded:
        """Return the columns of some values; see `ValueReader`."""
        fields = _fields(self.columns)
        parts, unreadable = parts_of(values, self.form, self.columns)
        misfits: dict[int, list[str]] = {}
        order = [row for part in parts for row in part.rows]
        read = set(order)
        others = [row for row in range(len(values)) if row not in read]
        nothing = pl.DataFrame(schema={each.name: each.polars_type for each in fields})
        frame = pl.concat(
            [nothing.clear(len(others)), *(_frame(part, fields, misfits) for part in parts)]
        )
        frame = frame[pl.Series(others + order, dtype=pl.UInt32).arg_sort()]
        reasons = {row: unreadable.get(row, NULL_VALUE) for row in others} | {
            row: misfit_reason(self.columns.names, names) for row, names in misfits.items()
        }
        return Decoded(frame, {row: Malformed(why, values[row]) for row, why in reasons.items()})


@dataclass(frozen=True, slots=True)
class _Field:
    """A column of a stream; `read` makes a value of it of one of Python."""

    name: str
    data_type: pa.DataType
    polars_type: PolarsType
    read: Reader

    def column_of(self, values: Column) -> tuple[pl.Series, Misfits]:
        """Return values in the type of the column, and places of those that do not fit."""
        if isinstance(values, pl.Series):
            found = _cast(values, self.polars_type)
            if found is not None:
                return found, (found.is_null() & values.is_not_null()).arg_true().to_list()
            is_time = isinstance(self.polars_type, pl.Datetime)
            if is_time and (values.dtype.is_integer() or values.dtype == pl.String):
                array, misfits = column_reader(self.data_type).array(values.to_list())
                return pl.Series(pl.from_arrow(array)), misfits
            values = values.to_list()
        items, misfits = read_each(values, self.read)
        return pl.Series(pl.from_arrow(pa.array(items, self.data_type))), misfits


@lru_cache(maxsize=4)
def _fields(columns: pa.Schema) -> list[_Field]:
    types = pl.DataFrame(pl.from_arrow(columns.empty_table())).schema
    return [
        _Field(each.name, each.type, types[each.name], with_parts(each.type, _reader))
        for each in columns
    ]


def _frame(part: Part, fields: list[_Field], misfits: dict[int, list[str]]) -> pl.DataFrame:
    """Return the columns of a part; note by row which of them do not fit."""
    columns = []
    for each in fields:
        values = part.columns.get(each.name)
        if values is None:
            values = pl.Series(dtype=each.polars_type).clear(len(part.rows))
        found, unfit = each.column_of(values)
        columns.append(found.alias(each.name))
        for place in unfit:
            misfits.setdefault(part.rows[place], []).append(each.name)
    return pl.DataFrame(columns)


def _cast(values: pl.Series, wanted: PolarsType) -> pl.Series | None:
    """Return values of another type, NULL where they do not fit; `None` if each is to be read."""
    given = values.dtype
    if given == wanted:
        return values
    if isinstance(given, pl.Datetime):
        if wanted.is_integer():
            return values.dt.timestamp("ms").cast(wanted, strict=False)
        instants = values.dt.replace_time_zone(given.time_zone or "UTC")
        return _in_zone(instants, wanted) if isinstance(wanted, pl.Datetime) else None
    if isinstance(given, pl.Decimal) and isinstance(wanted, pl.Decimal):
        is_wider = wanted.scale >= given.scale and (
            wanted.precision - wanted.scale >= given.precision - given.scale
        )
        return values.cast(wanted) if is_wider else None
    is_whole = given.is_integer() and (wanted.is_integer() or wanted == pl.String)
    is_number = (given.is_integer() or given.is_float()) and wanted.is_float()
    return values.cast(wanted, strict=False) if is_whole or is_number else None


def _in_zone(instants: pl.Series, wanted: pl.Datetime) -> pl.Series:
    found = instants.dt.cast_time_unit(wanted.time_unit)
    if wanted.time_zone is None:
        return found.dt.replace_time_zone(None)
    return found.dt.convert_time_zone(wanted.time_zone)


def _reader(data_type: pa.DataType) -> Reader:
    """Return what reads a value of Avro or Protobuf, which is one of Python."""
    if pa.types.is_string(data_type):
        return _text
    if pa.types.is_binary(data_type):
        return lambda value: value if isinstance(value, bytes) else bytes_of_text(value)
    if pa.types.is_timestamp(data_type):
        return value_reader(TIMESTAMP if data_type.tz else DataType(Kind.TIMESTAMP_NTZ))
    read = value_reader(plain_type(data_type))
    if pa.types.is_integer(data_type):
        return lambda value: read(_milliseconds(value) if isinstance(value, datetime) else value)
    return read


def _milliseconds(at: datetime) -> int:
    """Return a time in milliseconds since 1970; one without zone is of UTC, wherever this runs."""
    aware = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return (aware - _EPOCH) // _MILLISECOND


def _text(value: Any) -> Any:
    """Return a value as a text, with all its digits; bytes as Base64."""
    match value:
        case bytes():
            return base64.b64encode(value).decode()
        case date() | time():
            return value.isoformat()
        case Decimal() | UUID():
            return str(value)
        case dict() | list():
            try:
                return json_text(_with_base64(value))
            except (NoJson, RecursionError) as error:
                raise ValueError(str(error)) from None
        case _:
            return value_reader(STRING)(value)


def _with_base64(value: Any) -> Any:
    match value:
        case dict():
            return {name: _with_base64(each) for name, each in value.items()}
        case list():
            return list(map(_with_base64, value))
        case bytes():
            return base64.b64encode(value).decode()
        case _:
            return value

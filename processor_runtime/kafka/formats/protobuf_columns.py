"""Messages of Protobuf that were written by one schema → a column for each field.

values ──parsed──► messages ──field by field──► columns, or which cannot be read
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from functools import partial
from operator import attrgetter
from typing import Any, Final

import polars as pl
import pyarrow as pa
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.json_format import MessageToDict

from cep.expression.types import PolarsType
from processor_runtime.kafka.formats.parts import Part, reason_of

Getter = Callable[[Any], Any]
"""Takes a message and returns the value of a field."""

_KNOWN: Final = "google.protobuf."
_TIME: Final = f"{_KNOWN}Timestamp"
_WRAPPERS: Final = frozenset(
    f"{_KNOWN}{name}Value"
    for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
)
_TYPES: Final = {
    FieldDescriptor.CPPTYPE_INT32: pl.Int64,
    FieldDescriptor.CPPTYPE_INT64: pl.Int64,
    FieldDescriptor.CPPTYPE_UINT32: pl.Int64,
    FieldDescriptor.CPPTYPE_UINT64: pl.UInt64,
    FieldDescriptor.CPPTYPE_FLOAT: pl.Float64,
    FieldDescriptor.CPPTYPE_DOUBLE: pl.Float64,
    FieldDescriptor.CPPTYPE_BOOL: pl.Boolean,
    FieldDescriptor.CPPTYPE_ENUM: pl.String,
}
_INSTANT: Final = pl.Datetime("us", "UTC")
_FIRST_SECOND, _END_SECOND, _NANOS = -62_135_596_800, 253_402_300_800, 1_000_000_000
"""The times that Python knows, since 1970."""
_AT_ONCE: Final = 300
"""So many messages are held, so that their memory is used again."""


@dataclass(slots=True)
class ProtobufRecords:
    """Reads the messages of one class; see `RecordReader`.

    Args:
        message_class: of the schema they were written by.
        header: what stands in front of each.
        columns: names of fields that are wanted, which the class may lack, and types.
    """

    message_class: Any
    header: bytes
    columns: pa.Schema
    _getters: dict[str, Getter] = field(init=False)
    _types: dict[str, PolarsType | None] = field(init=False)

    def __post_init__(self) -> None:
        known = self.message_class.DESCRIPTOR.fields_by_name
        wanted = [(known[each.name], each.type) for each in self.columns if each.name in known]
        self._types = {of.name: _type(of, data_type) for of, data_type in wanted}
        self._getters = {
            of.name: partial(_micros, of.name)
            if self._types[of.name] == _INSTANT
            else _getter(of, data_type)
            for of, data_type in wanted
        }

    def read(
        self, rows: Sequence[int], values: Sequence[bytes], unreadable: dict[int, str]
    ) -> list[Part]:
        """Return what values hold; see `RecordReader`."""
        read: list[int] = []
        lists: list[list[Any]] = [[] for _ in self._getters]
        steps = [slice(n, n + _AT_ONCE) for n in range(0, len(rows), _AT_ONCE)]
        for few in steps:
            try:
                found = self._lists(values[few])
            except Exception as error:  # noqa: BLE001 - whatever a decoder finds in foreign bytes
                alone = range(few.start, min(few.stop, len(rows)))
                if len(alone) == 1:
                    unreadable[rows[few.start]] = reason_of(error)
                else:
                    steps += [slice(n, n + 1) for n in alone]
                continue
            read += rows[few]
            for of_field, more in zip(lists, found, strict=True):
                of_field.extend(more)
        columns = {
            name: of_field if of is None else pl.Series(of_field, dtype=of)
            for (name, of), of_field in zip(self._types.items(), lists, strict=True)
        }
        return [Part(read, columns)]

    def _lists(self, values: Sequence[bytes]) -> list[list[Any]]:
        """Return the values of each field."""
        parse, begin = self.message_class.FromString, len(self.header)
        messages = [parse(value[begin:]) for value in values]
        return [list(map(get, messages)) for get in self._getters.values()]


def _getter(described: FieldDescriptor, data_type: pa.DataType) -> Getter:
    """Return what gets the value of a field for a column; NULL if it has none."""
    name, get = described.name, attrgetter(described.name)
    if described.is_repeated:
        entry = described.message_type
        if entry is not None and entry.GetOptions().map_entry:
            item_type = data_type.item_type if pa.types.is_map(data_type) else data_type
            item = _value(entry.fields_by_name["value"], item_type)
            return lambda message: {_key(key): item(each) for key, each in get(message).items()}
        item_type = data_type.value_type if pa.types.is_list(data_type) else data_type
        item = _value(described, item_type)
        return lambda message: [item(each) for each in get(message)]
    read = _value(described, data_type)
    if described.has_presence:
        return lambda message: read(get(message)) if message.HasField(name) else None
    return get if described.enum_type is None else lambda message: read(get(message))


def _is_instant(described: FieldDescriptor, data_type: pa.DataType) -> bool:
    of = described.message_type
    return of is not None and of.full_name == _TIME and not pa.types.is_string(data_type)


def _type(described: FieldDescriptor, data_type: pa.DataType) -> PolarsType | None:
    """Return the type of what `_getter` gets; `None` if Polars has none."""
    if described.is_repeated:
        return None
    if _is_instant(described, data_type):
        return _INSTANT
    if described.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return pl.String if described.type == FieldDescriptor.TYPE_STRING else pl.Binary
    return _TYPES.get(described.cpp_type)


def _micros(name: str, message: Any) -> int | None:
    """Return a time in microseconds since 1970."""
    if not message.HasField(name):
        return None
    time = getattr(message, name)
    seconds, nanos = time.seconds, time.nanos
    if not (_FIRST_SECOND <= seconds < _END_SECOND and 0 <= nanos < _NANOS):
        raise ValueError(f"{name}: there is no such time")
    return int(seconds * 1_000_000 + nanos // 1_000)


def _value(described: FieldDescriptor, data_type: pa.DataType) -> Getter:
    """Return what makes a value of Python of one of a message, for a column."""
    if described.enum_type is not None:
        names = {n: each.name for n, each in described.enum_type.values_by_number.items()}
        return lambda number: names.get(number, str(number))
    of = described.message_type
    if of is None:
        return lambda value: value
    if _is_instant(described, data_type):
        return lambda time: time.ToDatetime(UTC)
    if of.full_name in _WRAPPERS:
        return attrgetter("value")
    if pa.types.is_struct(data_type) and not of.full_name.startswith(_KNOWN):
        fields = {
            each.name: _getter(of.fields_by_name[each.name], each.type)
            for each in data_type
            if each.name in of.fields_by_name
        }
        return lambda message: {name: get(message) for name, get in fields.items()}
    return partial(
        MessageToDict, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )


def _key(key: Any) -> str:
    """Return the key of a map as a text."""
    return str(key).lower() if isinstance(key, bool) else str(key)

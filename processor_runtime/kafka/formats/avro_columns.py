"""Records of Avro that were written by one schema → a column for each field.

    mark, value, mark, value, … ──Polars, as a file of Avro──► columns
            └─ what it does not read ──fastavro──► one by one, or why not

Where a record ends, its schema alone tells. A mark before each that nobody can know shows that
every row begins where a value does, so that a broken value costs no other.
"""

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any, Final

import polars as pl
from fastavro import schemaless_reader

from processor_runtime.kafka.formats.parts import Column, Part, reason_of

Schema = Any
"""A schema as fastavro has parsed it: a name, a list of branches, or a mapping."""

_MARK: Final = "#"
"""The field with the mark, as no field of Avro is called."""
_MARK_BYTES: Final = 8
_FEW: Final = 500
"""So many values are read one by one if one of them is broken."""
_BEGINNING: Final = b"Obj\x01\x02\x16avro.schema"
_SYNC: Final = bytes(16)
_TIMES: Final = (
    "int-date",
    "int-time-millis",
    "long-time-micros",
    "long-timestamp-millis",
    "long-timestamp-micros",
    "long-local-timestamp-millis",
    "long-local-timestamp-micros",
)
_NESTED: Final = ("array", "map", "record", "union")
_MOST_DIGITS: Final = 38
_UUID: Final = r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
_FIRST, _END = -62_135_596_800, 253_402_300_800
_BOUNDS: Final = {
    "": (_FIRST // 86_400, _END // 86_400 - 1),
    "ms": (_FIRST * 1_000, _END * 1_000 - 1),
    "us": (_FIRST * 1_000_000, _END * 1_000_000 - 1),
    "ns": (0, 86_400 * 1_000_000_000 - 1),
}
"""The dates, instants and times of a day that Python knows, by their unit."""


class _OtherType(ValueError):
    """Polars reads no such type from a file."""


@dataclass(slots=True)
class AvroRecords:
    """Reads the records of one schema; see `RecordReader`.

    Args:
        schema: they were written by.
        header: what stands in front of each.
        names: fields that are wanted; the schema may lack them.
    """

    schema: Schema
    header: bytes
    names: Sequence[str]
    _wanted: dict[str, Schema] = field(init=False)
    _beginning: bytes | None = field(init=False)
    """Of a file with the schema; `None` if Polars does not read it."""

    def __post_init__(self) -> None:
        is_record = isinstance(self.schema, dict) and self.schema["type"] == "record"
        fields = {each["name"]: each["type"] for each in self.schema["fields"]} if is_record else {}
        known = self.schema.get("__named_schemas", {}) if is_record else {}
        self._wanted = {n: _value_type(fields[n], known) for n in self.names if n in fields}
        mark = {"type": "fixed", "name": "Mark", "size": _MARK_BYTES + len(self.header)}
        self._beginning = None
        if is_record and all(of["type"] not in _NESTED for of in self._wanted.values()):
            with suppress(_OtherType):
                types = {name: _in_file(of, known) for name, of in fields.items()}
                text = json.dumps(_record({_MARK: mark} | types)).encode()
                self._beginning = _BEGINNING + _length(text) + text + b"\0" + _SYNC

    def read(
        self, rows: Sequence[int], values: Sequence[bytes], unreadable: dict[int, str]
    ) -> list[Part]:
        """Return what values hold; see `RecordReader`."""
        columns = self._at_once(values)
        if columns is not None:
            return [Part(rows, columns)]
        if self._beginning is None or len(values) <= _FEW:
            return [self._one_by_one(rows, values, unreadable)]
        first, second = slice(len(values) // 2), slice(len(values) // 2, None)
        return [
            *self.read(rows[first], values[first], unreadable),
            *self.read(rows[second], values[second], unreadable),
        ]

    def _at_once(self, values: Sequence[bytes]) -> dict[str, Column] | None:
        """Return columns; `None` if not all values are as they should be."""
        if self._beginning is None:
            return None
        mark = os.urandom(_MARK_BYTES)
        content = mark + mark.join(values)
        file = (self._beginning, _length(values), _length(content), content, _SYNC)
        try:
            found = pl.read_avro(BytesIO(b"".join(file)), columns=[_MARK, *self._wanted])
            if not (found[_MARK] == pl.Series([mark + self.header])).all():
                return None
            return {name: _as_fastavro(found[name], of) for name, of in self._wanted.items()}
        except (Exception, pl.exceptions.PanicException):  # noqa: BLE001 - as Polars refuses octets
            return None

    def _one_by_one(
        self, rows: Sequence[int], values: Sequence[bytes], unreadable: dict[int, str]
    ) -> Part:
        records: list[dict[str, Any]] = []
        places: list[int] = []
        for row, value in zip(rows, values, strict=True):
            stream = BytesIO(value)
            stream.seek(len(self.header))
            try:
                record = schemaless_reader(stream, self.schema, None)
            except Exception as error:  # noqa: BLE001 - whatever a decoder finds in foreign bytes
                unreadable[row] = reason_of(error)
                continue
            if isinstance(record, dict):
                records.append(record)
                places.append(row)
            else:
                unreadable[row] = "the value is no record"
        return Part(places, {name: [each.get(name) for each in records] for name in self.names})


def _as_fastavro(values: pl.Series, schema: Schema) -> pl.Series:
    """Return the values of a field as fastavro would.

    Raises:
        PolarsError: it would refuse one, or write it otherwise.
    """
    match schema:
        case {"type": "enum", "symbols": symbols}:
            return values.replace_strict(range(len(symbols)), symbols, return_dtype=pl.String)
        case {"type": "string", "logicalType": "uuid"}:
            is_same = values.str.contains(_UUID)
        case {"type": "bytes" | "fixed", "logicalType": "decimal", "precision": precision}:
            most = 10**precision - 1
            is_same = values.to_physical().is_between(-most, most)
        case _ if values.dtype.is_temporal():
            unit = "ns" if values.dtype == pl.Time else getattr(values.dtype, "time_unit", "")
            is_same = values.to_physical().is_between(*_BOUNDS[unit])
        case _:
            return values
    if not is_same.all():
        raise pl.exceptions.ComputeError
    return values


def _value_type(schema: Schema, known: Mapping[str, Schema]) -> Schema:
    """Return a type as a mapping, without the NULL beside it; `known`: types by name."""
    if isinstance(schema, list):
        others = [each for each in schema if each != "null"]
        is_optional = len(schema) == 2 and len(others) == 1  # noqa: PLR2004 - NULL, or a value
        return _value_type(others[0], known) if is_optional else {"type": "union"}
    if isinstance(schema, str):
        return _value_type(known[schema], known) if schema in known else {"type": schema}
    return schema if isinstance(schema["type"], str) else _value_type(schema["type"], known)


def _in_file(schema: Schema, known: Mapping[str, Schema]) -> Any:
    """Return a type that is written alike, as Polars reads it.

    A map is written as an array of pairs is, an `enum` as the number of its symbol; as a `long`, an
    `int` that is too large becomes no other number.

    Raises:
        _OtherType: there is none; so it is for one that contains itself.
    """
    if isinstance(schema, dict) and isinstance(schema["type"], list):
        schema = schema["type"]
    of = _value_type(schema, known)
    known = {name: each for name, each in known.items() if name != of.get("name")}
    found = _alike(of, known)
    if isinstance(schema, list):
        return [each if each == "null" else found for each in schema]
    return found


def _alike(schema: Schema, known: Mapping[str, Schema]) -> Any:  # noqa: PLR0911 - one line per type
    kind, logical = schema["type"], schema.get("logicalType")
    match kind:
        case "int" | "long" if f"{kind}-{logical}" in _TIMES:
            return {"type": kind, "logicalType": logical}
        case "int" | "long" | "enum":
            return "long"
        case "bytes" | "fixed" if logical == "decimal":
            if 0 <= schema.get("scale", 0) <= schema.get("precision", -1) <= _MOST_DIGITS:
                return {"scale": 0, **schema}
            raise _OtherType
        case "fixed" if schema["size"]:
            return {"type": "fixed", "name": "F", "size": schema["size"]}
        case "array":
            return {"type": "array", "items": _in_file(schema["items"], known)}
        case "map":
            pair = {"key": "string", "value": _in_file(schema["values"], known)}
            return {"type": "array", "items": _record(pair)}
        case "record" if schema["fields"]:
            return _record(
                {each["name"]: _in_file(each["type"], known) for each in schema["fields"]}
            )
        case "boolean" | "float" | "double" | "string" | "bytes":
            return kind
        case _:
            raise _OtherType


def _record(fields: Mapping[str, Any]) -> Any:
    parts = [{"name": name, "type": of} for name, of in fields.items()]
    return {"type": "record", "name": "R", "fields": parts}


def _length(counted: Sequence[Any] | bytes) -> bytes:
    """Return a length as a `long` of Avro."""
    number, octets = 2 * len(counted), bytearray()
    while number > 127:  # noqa: PLR2004 - seven bits an octet
        octets.append(number & 127 | 128)
        number >>= 7
    return bytes([*octets, number])

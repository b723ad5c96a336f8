"""Texts of JSON → the columns of a stream.

    bytes ──decoder──► objects with the values that are sure ──► columns
              └─ what is not ──json──► looked at value by value ──► columns, or why not

A text that is not as its columns are costs what it costs, and the others beside it nothing.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final

import msgspec
import polars as pl
import pyarrow as pa

from cep.events.values import json_number
from processor_runtime.rows.json_text import with_whole_characters
from processor_runtime.sources.column_values import ColumnReader, column_reader
from processor_runtime.sources.time_patterns import ISO, TimePatterns
from processor_runtime.sources.values import NULL_VALUE, Decoded, Malformed, misfit_reason

NO_OBJECT: Final = "not a JSON object"


@dataclass(frozen=True, slots=True)
class JsonValues:
    """Reads values of JSON.

    Args:
        columns: of the stream, with their types.
        names: what they are called in an object, in the same order; empty = the same.
        times: how times are written.
    """

    columns: pa.Schema
    names: tuple[str, ...] = ()
    times: TimePatterns = ISO

    def read(self, values: Sequence[bytes | None]) -> Decoded:
        """Return the columns of some values; see `ValueReader`."""
        return _decoder(self).read(values)


@lru_cache(maxsize=8)
def _decoder(values: JsonValues) -> "_Decoder":
    names = values.names or values.columns.names
    readers = [column_reader(each.type, values.times) for each in values.columns]
    return _Decoder(values.columns.names, dict(zip(names, readers, strict=True)))


@dataclass(slots=True)
class _Decoder:
    """What one process keeps for the columns of a stream; `readers` by names in an object."""

    columns: Sequence[str]
    readers: Mapping[str, ColumnReader]
    record: Any = field(init=False)
    decode: Any = field(init=False)

    def __post_init__(self) -> None:
        # Names of columns are any texts; attributes are not.
        fields = [
            (f"f{place}", reader.sure, msgspec.field(default=None, name=name))
            for place, (name, reader) in enumerate(self.readers.items())
        ]
        self.record = msgspec.defstruct("Record", fields, gc=False)
        self.decode = msgspec.json.Decoder(self.record, float_hook=json_number).decode

    def read(self, values: Sequence[bytes | None]) -> Decoded:
        misfits: dict[int, set[str]] = {}
        malformed: dict[int, Malformed] = {}
        records: list[Any] = []
        left = iter(values)
        while len(records) < len(values):
            try:
                # What was decoded before one that was not stays in the list.
                records.extend(map(self.decode, left))
            except (msgspec.DecodeError, TypeError, RecursionError):
                place = len(records)
                value = values[place]
                event = None if value is None else _object(value)
                if event is None:
                    malformed[place] = Malformed(NULL_VALUE if value is None else NO_OBJECT, value)
                record, unfit = self._looked_at(event or {})
                records.append(record)
                if unfit:
                    misfits[place] = unfit
        batch = pa.RecordBatch.from_arrays([*self._arrays(records, misfits)], [*self.columns])
        names = list(self.readers)
        for place, unfit in misfits.items():
            malformed[place] = Malformed(misfit_reason(names, unfit), values[place])
        return Decoded(pl.DataFrame(pl.from_arrow(batch)), malformed)

    def _arrays(self, records: list[Any], misfits: dict[int, set[str]]) -> Iterator[pa.Array]:
        """Yield the columns of records; note which of their values do not fit."""
        for place, (name, reader) in enumerate(self.readers.items()):
            array, unfit = reader.array(list(map(attrgetter(f"f{place}"), records)))
            for row in unfit:
                misfits.setdefault(row, set()).add(name)
            yield array

    def _looked_at(self, event: Mapping[str, Any]) -> tuple[Any, set[str]]:
        """Return the record of an event whose values are not sure, and what of it does not fit."""
        found: list[Any] = []
        unfit: set[str] = set()
        for name, reader in self.readers.items():
            given = event.get(name)
            try:
                found.append(None if given is None else reader.look(given))
            except ValueError:
                unfit.add(name)
                found.append(None)
        return self.record(*found), unfit


def _object(value: bytes) -> dict[str, Any] | None:
    """Return an object; `None` if there is none. Octets that are no UTF-8 are replaced."""
    text = value.decode(errors="replace")
    try:
        found = json.loads(text, parse_float=json_number)
    except (ValueError, RecursionError):  # no JSON; thousands of digits, of brackets
        return None
    if "\\ud" in text or "\\uD" in text:
        found = with_whole_characters(found)
    return found if isinstance(found, dict) else None

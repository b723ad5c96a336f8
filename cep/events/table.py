"""Files of events as tables, which a query over all of them needs: columns with types, and rows.

    JSON Lines, CSV, Parquet, Arrow IPC ──► EventTable: Schema, rows

                                      ──► EventRows: mappings, one at a time

Types are those that the values show, or those of a schema that is given.
"""

import gzip
import json
import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import NoneType
from typing import Any, Final

import polars as pl

from cep.events.values import (
    Reader,
    UnfitValue,
    column_readers,
    json_number,
    text_reader,
    typed_event,
)
from cep.expression import DataType, Kind, Schema
from cep.expression.types import DATE, TIMESTAMP

_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIME: Final = re.compile(rf"{_DAY.pattern}(?:[T ]\d{{2}}:\d{{2}}.*)?")
_SUFFIXES: Final = {
    "jsonl": "JSON Lines",
    "ndjson": "JSON Lines",
    "json": "JSON Lines",
    "csv": "CSV",
    "parquet": "Parquet",
    "arrow": "Arrow",
    "arrows": "Arrow",
    "feather": "Arrow",
}
_OTHER_SUFFIXES: Final = frozenset(
    {"avro", "ipynb", "orc", "py", "sql", "toml", "xls", "xlsx", "xml", "yaml", "yml"}
)
"""Of files that hold no events, or not as they are read here."""
EVENT_SUFFIXES: Final = tuple(f".{suffix}" for suffix in _SUFFIXES)
"""Of names of files that hold events."""
_GZIP: Final = b"\x1f\x8b"
_ARROW_FILE: Final = b"ARROW1"
_ARROW_STREAM: Final = b"\xff\xff\xff\xff"
_MAGICS: Final = {b"PAR1": "Parquet", _ARROW_FILE: "Arrow", _ARROW_STREAM: "Arrow"}

_RENAMED: Final = "_duplicated_"
"""In the name that Polars gives to a column whose name another one has."""

_KEPT: Final[dict[pl.DataType, frozenset[type]]] = {
    pl.String(): frozenset({str, NoneType}),
    pl.Boolean(): frozenset({bool, NoneType}),
    pl.Int64(): frozenset({int, NoneType}),
    pl.Float64(): frozenset({float, NoneType}),
}
"""The kinds of values that a column takes as they are; others have to be looked at one by one."""


class UnreadableEvents(Exception):
    """What was given is no file of events, or a value does not fit its column."""


@dataclass(frozen=True, slots=True)
class EventTable:
    """Events as rows in the order they came in; each has its values in the order of the schema."""

    schema: Schema
    rows: list[tuple[Any, ...]]

    def column(self, name: str) -> list[Any]:
        """Return the values of a column, given as the schema spells it."""
        place = self._names.index(name)
        return [row[place] for row in self.rows]

    def with_times(self, names: Iterable[str]) -> "EventTable":
        """Return the table with DATE or TIMESTAMP for those text columns that are so throughout."""
        wanted = {name.casefold() for name in names}
        table = self
        for name, data_type in self.schema.columns:
            if data_type.kind is Kind.STRING and name.casefold() in wanted:
                values = self.column(name)
                texts = [value for value in values if value is not None]
                if texts and all(map(reads_as_time, texts)):
                    are_days = all(map(_DAY.fullmatch, texts))
                    table = table._converted(name, DATE if are_days else TIMESTAMP)
        return table

    @property
    def _names(self) -> list[str]:
        return [name for name, _ in self.schema.columns]

    def _converted(self, name: str, data_type: DataType) -> "EventTable":
        place = self._names.index(name)
        types = tuple((n, data_type if n == name else kind) for n, kind in self.schema.columns)
        rows = [
            (*row[:place], text_reader(data_type)(row[place]), *row[place + 1 :])
            for row in self.rows
        ]
        return replace(self, schema=Schema(types), rows=rows)


@dataclass(frozen=True, slots=True)
class EventRows:
    """Events as they were written, each a mapping with the fields it has, and their columns.

    `schema` is `None` where nobody has said, nor the file shows, which columns there are. `readers`
    make of values those of the columns of a schema that was given; without one there are none.
    """

    rows: Iterable[dict[str, Any]]
    schema: Schema | None = None
    readers: Mapping[str, Reader] = field(default_factory=dict)

    @classmethod
    def of_json(cls, rows: Iterable[dict[str, Any]], schema: Schema | None) -> "EventRows":
        """Return events with the values that JSON or a frame has."""
        return cls(rows, schema, {} if schema is None else column_readers(schema))

    def all_typed(self) -> list[dict[str, Any]]:
        """Return the events with the values of their columns.

        Raises:
            UnreadableEvents: some do not fit their columns; says how many, and why the first.
        """
        typed: list[dict[str, Any]] = []
        unread, first, number = 0, "", 0
        for number, event in enumerate(self.rows, start=1):
            try:
                typed.append(typed_event(event, self.readers))
            except UnfitValue as unfit:
                unread += 1
                first = first or f"event {number}: {unfit.column}: {unfit}"
        if unread:
            raise UnreadableEvents(f"{unread:,} of {number:,} events could not be read: {first}")
        return typed

    def typed(self) -> Iterator[dict[str, Any]]:
        """Yield the events with the values of their columns.

        Raises:
            UnreadableEvents: a value does not fit its column; says of which event.
        """
        if not self.readers:
            yield from self.rows
            return
        for number, event in enumerate(self.rows, start=1):
            try:
                yield typed_event(event, self.readers)
            except UnfitValue as unfit:
                raise UnreadableEvents(f"event {number}: {unfit.column}: {unfit}") from None


def reads_as_time(text: str) -> bool:
    """Return whether a text is a day or a time in ISO 8601."""
    if _TIME.fullmatch(text) is None:
        return False
    try:
        text_reader(TIMESTAMP)(text)
    except ValueError:
        return False
    return True


def read_events(content: bytes, name: str, schema: Schema | None = None) -> EventTable:
    """Return the events in a file, whose content may be compressed by gzip.

    The suffix of its name tells the format, else its first bytes do. By default all columns are
    read, with types as their values show.

    Raises:
        UnreadableEvents: says in which line, event or column.
    """
    rows = event_rows(content, name, schema)
    if schema is not None:
        names = [name for name, _ in schema.columns]
        return EventTable(schema, [tuple(map(event.get, names)) for event in rows.all_typed()])
    if rows.schema is not None and rows.schema.columns:
        return EventTable(rows.schema, [tuple(event.values()) for event in rows.rows])
    frame = frame_of(list(rows.rows))
    if not frame.width:
        raise UnreadableEvents("there are no events, so no columns; give a schema")
    return EventTable(Schema.from_polars(frame.schema), frame.rows())


def event_rows(content: bytes, name: str, schema: Schema | None = None) -> EventRows:
    """Return the events in a file one after the other, its format found as by `read_events`.

    Without a schema events in JSON Lines stay what they are, and nothing is said of their columns.

    Raises:
        UnreadableEvents: says in which line; also while lines of JSON are iterated.
    """
    content = _decompressed(content)
    read = _format(content, name)
    if read == "JSON Lines":
        return EventRows.of_json(json_objects(content.split(b"\n"), schema), schema)
    is_text = read == "CSV" and schema is not None
    frame = _frame_in(content, read, is_typed=not is_text)
    if schema is None:
        return EventRows(frame.iter_rows(named=True), Schema.from_polars(frame.schema))
    readers = column_readers(schema, of_text=is_text)
    return EventRows(frame.iter_rows(named=True), schema, readers)


def is_json_lines(name: str, head: bytes) -> bool:
    """Return whether a file holds JSON Lines, if it holds events; `head` are its first 8 bytes."""
    return not head.startswith(_GZIP) and _format(head, name) == "JSON Lines"


def _decompressed(content: bytes) -> bytes:
    if not content.startswith(_GZIP):
        return content
    try:
        return gzip.decompress(content)
    except (OSError, EOFError) as error:
        raise UnreadableEvents(f"cannot decompress: {error}") from error


def _suffix(name: str) -> str:
    return name.lower().removesuffix(".gz").rpartition(".")[2]


def _format(content: bytes, name: str) -> str:
    suffix = _suffix(name)
    if suffix in _OTHER_SUFFIXES:
        raise UnreadableEvents(
            f"a file of events is JSON Lines, CSV, Parquet or Arrow IPC, not .{suffix}"
        )
    found = _SUFFIXES.get(suffix)
    if found is None:
        found = next((kind for magic, kind in _MAGICS.items() if content.startswith(magic)), None)
    first = content.removeprefix(BOM_UTF8).lstrip()[:1]
    return found or ("JSON Lines" if first in {b"{", b"[", b""} else "CSV")


def json_objects(lines: Iterable[bytes], schema: Schema | None) -> Iterator[dict[str, Any]]:
    """Yield the events in JSON Lines, of which empty ones are skipped.

    With a schema a number with a point keeps its digits until it is typed.

    Raises:
        UnreadableEvents: a line is no JSON object; says which.
    """
    parse_float = None if schema is None else json_number
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            event = json.loads(line, parse_float=parse_float)
        except json.JSONDecodeError as error:
            place = f"line {number}, column {error.colno}"
            message = f"{place}: not JSON ({error.msg}); one object per line is needed"
            raise UnreadableEvents(message) from error
        except (ValueError, RecursionError) as error:  # no UTF-8; thousands of digits, of brackets
            raise UnreadableEvents(f"line {number}: cannot read: {error}") from error
        if not isinstance(event, dict):
            raise UnreadableEvents(f"line {number}: an event must be a JSON object")
        yield event


def frame_of(events: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return objects as a frame; one without columns if there are none.

    Raises:
        UnreadableEvents: a value would have to change its kind.
    """
    if not events:
        return pl.DataFrame()
    try:
        frame = pl.from_dicts(events, infer_schema_length=None)
    except (pl.exceptions.PolarsError, TypeError, OverflowError) as error:
        raise UnreadableEvents(_first_line(error)) from error
    except UnicodeEncodeError as error:
        message = f"a text has half of a surrogate pair, which is no character: {error.object!a}"
        raise UnreadableEvents(message) from error
    for name, data_type in frame.schema.items():
        kinds = {type(event.get(name)) for event in events}
        if kinds <= _KEPT.get(data_type, frozenset()):
            continue
        for number, (event, value) in enumerate(zip(events, frame[name], strict=True), start=1):
            if not _is_kept(event.get(name), value):
                kind = Schema.from_polars({name: frame.schema[name]}).columns[0][1]
                raise UnreadableEvents(
                    f"event {number}: {name} is {_shown(event[name])}, with the other rows "
                    f"it would be a {kind}; give them one type, or a schema"
                )
    return frame


def _shown(value: Any) -> str:
    return json.dumps(value, default=str)[:80]


def _is_kept(given: Any, value: Any) -> bool:
    """Return whether a value is in a frame what it was; a whole number may be an equal DOUBLE."""
    match given:
        case dict():
            return value is not None and all(_is_kept(v, value[k]) for k, v in given.items())
        case list():
            return value is not None and all(map(_is_kept, given, value))
        case None:
            return value is None
        case int() if isinstance(value, float):
            return not isinstance(given, bool) and given == value
        case _:
            return type(given) is type(value)


def _frame_in(content: bytes, read: str, *, is_typed: bool) -> pl.DataFrame:
    try:
        if read == "Parquet":
            return pl.read_parquet(content)
        if read == "Arrow":
            is_stream = content.startswith(_ARROW_STREAM)
            return pl.read_ipc_stream(content) if is_stream else pl.read_ipc(content)
        frame = pl.read_csv(content, infer_schema=is_typed, infer_schema_length=None)
        if any(_RENAMED in name for name in frame.columns):
            _check_header(content)
        # An empty line is read as a row without values.
        is_empty = pl.all_horizontal(pl.all().is_null())
        return frame.filter(~is_empty) if frame.width > 1 else frame
    except pl.exceptions.NoDataError:
        return pl.DataFrame()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise UnreadableEvents(f"cannot read as {read}: {_first_line(error)}") from error


def _check_header(content: bytes) -> None:
    """Raise `UnreadableEvents` if a column is there twice: which one is meant, nobody can say."""
    header = pl.read_csv(content, has_header=False, infer_schema=False, n_rows=1).row(0)
    for name, count in Counter(header).items():
        if name and count > 1:  # Spreadsheets write empty names after the last column.
            message = (
                f"line 1: {count} columns are called {name[:80]}; rename or remove all but one"
            )
            raise UnreadableEvents(message)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]

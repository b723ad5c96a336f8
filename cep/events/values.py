"""The values of events by the schema of their stream, from what JSON, CSV or a frame has.

    Schema ──column_readers──► name → reader ──typed_event──► event with values as its columns have

It is what a job makes of the same value. A text of CSV is taken only if it surely is the value:
`1.5` is no INT, `1,5` no DECIMAL, `yes` no BOOLEAN. In JSON a number is no text: `"12"` is no INT.
"""

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from numbers import Integral
from typing import Any, Final

from cep.expression import DataType, Kind, Schema
from cep.expression.functions.casting import SOURCES, caster, to_text
from cep.expression.values import Group

Reader = Callable[[Any], Any]
"""Takes a value and returns that of the column; raises ValueError for one that does not fit."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,18}")
_BITS: Final = {Kind.TINYINT: 8, Kind.SMALLINT: 16, Kind.INT: 32, Kind.BIGINT: 64}
_FORMS: Final = {
    **dict.fromkeys(_BITS, re.compile(r"[+-]?[0-9]+")),
    Kind.DECIMAL: re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)(E-?[0-9]+)?"),
    Kind.BOOLEAN: re.compile("true|false", re.IGNORECASE),
}
_TIMES: Final = frozenset({Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ})
_BINARY: Final = frozenset({Kind.FLOAT, Kind.DOUBLE})
_UNQUOTED: Final = frozenset({*_BITS, *_BINARY, Kind.BOOLEAN})
"""What JSON has no quotes around."""
_ACCEPTED: Final[Mapping[Kind, tuple[type, ...]]] = {
    **dict.fromkeys((*_BINARY, Kind.DECIMAL), (int, float, Decimal)),
    Kind.BOOLEAN: (bool,),
    Kind.DATE: (date,),
}
_NO_FINITE: Final = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_LONGEST_SHOWN: Final = 80


class UnfitValue(ValueError):
    """A value does not fit its `column`; the message says why, without the column."""

    def __init__(self, column: str, reason: str) -> None:
        super().__init__(reason)
        self.column = column


def column_readers(schema: Schema, *, of_text: bool = False) -> dict[str, Reader]:
    """Return what reads the values of each column: texts, as in CSV, or values as JSON has them."""
    reader = text_reader if of_text else value_reader
    return {name: reader(data_type) for name, data_type in schema.columns}


def typed_event(event: Mapping[str, Any], readers: Mapping[str, Reader]) -> dict[str, Any]:
    """Return an event with the values of its columns; a field that is none stays as it is.

    Raises:
        UnfitValue: a value does not fit its column.
    """
    columns = dict(event)
    for name in columns.keys() & readers.keys():
        try:
            columns[name] = readers[name](columns[name])
        except ValueError as error:
            raise UnfitValue(name, f"{error}") from None
    return columns


def json_number(text: str) -> Decimal:
    """Return a number of JSON that has a point or an exponent, with all its digits.

    An exponent beyond those of any decimal makes it infinite, or 0.
    """
    try:
        return Decimal(text)
    except InvalidOperation:
        return Decimal(float(text))


@lru_cache(maxsize=1_000)
def value_reader(data_type: DataType) -> Reader:
    """Return what reads a value of JSON or of a frame as one of a type; `None` stays `None`."""
    read = _reader(data_type)
    return lambda value: None if value is None else read(value)


@lru_cache(maxsize=1_000)
def text_reader(data_type: DataType) -> Reader:
    """Return what reads a text of CSV as a value of a type; `None` stays `None`."""
    read = _text_reader(data_type)
    return lambda text: None if text is None else read(text)


def _text_reader(data_type: DataType) -> Reader:
    kind = data_type.kind
    if kind is Kind.STRING:
        return lambda text: text
    if Group.TEXT not in SOURCES.get(kind, frozenset()):

        def refuse(text: str) -> Any:
            raise _misfit(text, data_type)

        return refuse
    form, cast = _FORMS.get(kind), caster(data_type)

    def read(text: str) -> Any:
        if kind in _TIMES and _WHOLE.fullmatch(text.strip()):
            return _moment(int(text), kind)
        found = cast(text) if form is None or form.fullmatch(text) else None
        if found is None:
            raise _misfit(text, data_type)
        return found

    return read


def _reader(data_type: DataType) -> Reader:  # noqa: PLR0911 - one line per type
    kind = data_type.kind
    if kind in _BITS:
        return _integer_reader(data_type, 2 ** (_BITS[kind] - 1))
    match kind:
        case Kind.STRING:
            return _string
        case Kind.BOOLEAN | Kind.FLOAT | Kind.DOUBLE | Kind.DECIMAL | Kind.DATE:
            return _scalar_reader(data_type)
        case Kind.TIMESTAMP | Kind.TIMESTAMP_NTZ:
            return _time_reader(data_type)
        case Kind.ARRAY if data_type.element is not None:
            return _array_reader(data_type, value_reader(data_type.element))
        case Kind.STRUCT:
            return _struct_reader(data_type)
        case _:
            return lambda value: value


def _string(value: Any) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case float() | Decimal():
            return to_text(float(value))  # as Java writes it
        case Mapping() | list():
            return json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=str)
        case _:
            return str(value)


def _integer_reader(data_type: DataType, limit: int) -> Reader:
    def read(value: Any) -> int:
        if type(value) is not int:
            if isinstance(value, str):
                raise _quoted(value, data_type)
            if not isinstance(value, Integral) or isinstance(value, bool):
                raise _misfit(value, data_type)
            value = int(value)  # of NumPy
        if not -limit <= value < limit:
            raise _misfit(value, data_type)
        return int(value)

    return read


def _scalar_reader(data_type: DataType) -> Reader:
    kind, cast, of_text = data_type.kind, caster(data_type), text_reader(data_type)
    accepted = _ACCEPTED[kind]

    def read(value: Any) -> Any:
        if isinstance(value, str):
            if kind in _UNQUOTED and not (kind in _BINARY and _NO_FINITE.fullmatch(value)):
                raise _quoted(value, data_type)
            return of_text(value)
        fits = isinstance(value, accepted) and (kind is Kind.BOOLEAN or not isinstance(value, bool))
        found = cast(value) if fits else None
        if found is None:
            raise _misfit(value, data_type)
        return found

    return read


def _time_reader(data_type: DataType) -> Reader:
    kind, cast, of_text = data_type.kind, caster(data_type), text_reader(data_type)

    def read(value: Any) -> Any:
        if isinstance(value, str):
            return of_text(value)
        if isinstance(value, datetime | date):
            return cast(value)
        if isinstance(value, Integral) and not isinstance(value, bool):
            return _moment(int(value), kind)
        raise _misfit(value, data_type)

    return read


def _moment(time_ms: int, kind: Kind) -> datetime:
    try:
        moment = _EPOCH + timedelta(milliseconds=time_ms)
    except OverflowError:
        raise ValueError(f"{time_ms} is no time in milliseconds") from None
    return moment if kind is Kind.TIMESTAMP else moment.replace(tzinfo=None)


def _array_reader(data_type: DataType, read_item: Reader) -> Reader:
    def read(value: Any) -> list[Any]:
        if not isinstance(value, list | tuple):
            raise _misfit(value, data_type)
        return [read_item(item) for item in value]

    return read


def _struct_reader(data_type: DataType) -> Reader:
    readers = {name: value_reader(inner) for name, inner in data_type.fields}

    def read(value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise _misfit(value, data_type)
        return {name: read_field(value.get(name)) for name, read_field in readers.items()}

    return read


def _quoted(text: str, data_type: DataType) -> ValueError:
    """Return why a text is refused where JSON has a number, true or false."""
    try:
        text_reader(data_type)(text)
    except ValueError as error:
        return error
    return ValueError(f"'{text[:_LONGEST_SHOWN]}' is a text, no {data_type}; take the quotes off")


def _misfit(value: Any, data_type: DataType) -> ValueError:
    text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
    mark = "'" if isinstance(value, str) else ""
    return ValueError(f"{mark}{text[:_LONGEST_SHOWN]}{mark} is no {data_type}")

"""Parameters of a rule: a name, a type, a value, and which other values it may take.

    {type: DOUBLE, value: 100, min: 0} ──► Parameter ──► the constant that `:limit` stands for

A value as it is written in JSON or YAML becomes one constant of the language, of exactly the
declared type: what stands in a text value is never read as SQL. A list, for `IN :countries`,
becomes a constant for each of its values.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from math import isfinite
from typing import Any, Final

from cep.expression.errors import ExpressionError
from cep.expression.schema import Schema
from cep.expression.temporal import INTERVAL_UNITS, parse_interval, parse_timestamp
from cep.expression.tree import Constant, Literal
from cep.expression.types import DataType, Kind

WrittenOne = bool | int | float | str
Written = WrittenOne | list[WrittenOne]
"""A value as JSON has it, or a list of them."""
Value = Literal | tuple[Literal, ...]
"""What a parameter stands for: a constant, or a list of them."""

_ONE: Final = r"[A-Za-z_]+\s*(\(\s*\d{1,2}\s*(,\s*\d{1,2}\s*)?\))?"
_TYPE: Final = re.compile(rf"{_ONE}|(?i:ARRAY)\s*<\s*{_ONE}\s*>")
_NAMED: Final = re.compile(r":([A-Za-z_][A-Za-z0-9_]*)")
_INTEGER_BITS: Final = {Kind.TINYINT: 8, Kind.SMALLINT: 16, Kind.INT: 32, Kind.BIGINT: 64}
_MICROSECOND: Final = timedelta(microseconds=1)
_UNORDERED: Final = frozenset({Kind.BOOLEAN, Kind.STRING})
LONGEST_TEXT: Final = 10_000
"""Characters of a text value."""
MOST_LISTED: Final = 1_000
"""Values of a list."""
MOST_WRITTEN_OUT: Final = 20_000
"""Values of lists in all conditions of a pattern, or all output columns, counted at each use."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter with its value; `minimum`, `maximum` and `allowed` are of its type, too.

    Of a list they are those of its values. `allowed` is empty if every value from `minimum` to
    `maximum` may be taken.
    """

    name: str
    data_type: DataType
    value: Value
    minimum: Literal | None = None
    maximum: Literal | None = None
    allowed: tuple[Literal, ...] = ()
    description: str = ""

    def refusal(self, value: Value) -> str:
        """Return why the parameter cannot take a value of its type; empty if it can."""
        if isinstance(value, tuple):
            return next(filter(None, map(self.refusal, value)), "")
        constant: Any = value.value
        if self.minimum is not None and constant < self.minimum.value:
            return f"{_display_text(value)} is below the minimum, {_display_text(self.minimum)}"
        if self.maximum is not None and constant > self.maximum.value:
            return f"{_display_text(value)} is above the maximum, {_display_text(self.maximum)}"
        if self.allowed and value not in self.allowed:
            allowed = ", ".join(map(_display_text, self.allowed[:20]))
            return f"{_display_text(value)} is none of {allowed}"
        return ""

    def to_document(self) -> dict[str, Any]:
        """Return the parameter as documents have it, without its name."""
        document: dict[str, Any] = {"type": str(self.data_type), "value": json_value(self.value)}
        if self.minimum is not None:
            document["min"] = json_value(self.minimum)
        if self.maximum is not None:
            document["max"] = json_value(self.maximum)
        if self.allowed:
            document["values"] = [json_value(value) for value in self.allowed]
        if self.description:
            document["description"] = self.description
        return document


def constants_of(parameters: tuple[Parameter, ...]) -> Mapping[str, Value]:
    """Return what the names of parameters stand for in an expression."""
    return {parameter.name: parameter.value for parameter in parameters}


def written_out(text: str, values: Mapping[str, Value]) -> int:
    """Return how many values the lists stand for that a text names, each as often as it does."""
    names = _NAMED.findall(text) if any(isinstance(each, tuple) for each in values.values()) else ()
    lists = (values.get(name) for name in names)
    return sum(len(each) for each in lists if isinstance(each, tuple))


def parameter_type(text: str) -> DataType:
    """Return the type that a parameter is declared with.

    Raises:
        ValueError: there is no such type, or a parameter cannot have it.
    """
    found = DataType(Kind.OTHER)
    if _TYPE.fullmatch(text):
        with suppress(ExpressionError):
            ((_, found),) = Schema.from_ddl(f"value {text}").columns
    one = found.element if found.element is not None else found
    if one.kind not in _READERS:
        types = ", ".join(_READERS)
        raise ValueError(
            f"a parameter cannot be of type '{text[:40]}'; types are {types}, and ARRAY<…> of them"
        )
    return found


def is_ordered(data_type: DataType) -> bool:
    """Whether values of a type have a minimum and a maximum."""
    return element_of(data_type).kind not in _UNORDERED


def element_of(data_type: DataType) -> DataType:
    """Return the type of the values of a list; of one value its own."""
    return data_type if data_type.element is None else data_type.element


def value_of(data_type: DataType, value: Written) -> Value:
    """Return what a value or list of JSON stands for, see `constant_of`.

    Raises:
        ValueError: it is none of the type, or a list that is too long.
    """
    if data_type.element is None:
        return constant_of(data_type, value)
    if not isinstance(value, list):
        raise _misfit(value, "a list")
    if len(value) > MOST_LISTED:
        raise ValueError(f"a list of {len(value)} values; the limit is {MOST_LISTED}")
    element = data_type.element
    return tuple(dict.fromkeys(constant_of(element, each) for each in value))


def constant_of(data_type: DataType, value: Written) -> Literal:
    """Return the constant of a type, see `parameter_type`, that one value of JSON stands for.

    DECIMAL is also taken as text, which keeps all digits; points in time are ISO 8601 texts,
    intervals texts such as `10 minutes`.

    Raises:
        ValueError: it is no value of the type.
    """
    if isinstance(value, list):
        raise _misfit(value, f"one {data_type}")
    return Literal(_READERS[data_type.kind](data_type, value))


def json_value(value: Value) -> Written:
    """Return a value as JSON has it; `value_of` reads it back."""
    return [_json_value(each) for each in value] if isinstance(value, tuple) else _json_value(value)


def _json_value(value: Literal) -> WrittenOne:
    match value.value:
        case Decimal() as number:
            return format(number, "f")
        case datetime() | date() as moment:
            return moment.isoformat()
        case timedelta() as interval:
            return _interval_text(interval)
        case float() as number if number.is_integer() and str(number) != "-0.0":
            return int(number)
        case bool() | int() | float() | str() as plain:
            return plain
        case _:
            raise ValueError("a parameter is never NULL")


def display_text(value: Value) -> str:
    """Return a value for a message; of a list, how many there are."""
    if not isinstance(value, tuple):
        return _display_text(value)
    return f"{len(value)} value{'' if len(value) == 1 else 's'}"


def _display_text(value: Literal) -> str:
    shown = _json_value(value)
    return f"'{shown[:100]}'" if isinstance(shown, str) else str(shown)


def _interval_text(interval: timedelta) -> str:
    """Return an interval in the largest unit of which it is a whole number."""
    for unit in INTERVAL_UNITS:
        length = parse_interval(f"1 {unit}") or _MICROSECOND
        if not interval % length:
            count = interval // length
            return f"{count} {unit.lower()}{'' if count == 1 else 's'}"
    raise AssertionError("the smallest unit is that of an interval")


# One function per kind of type


def _boolean(_data_type: DataType, value: WrittenOne) -> Constant:
    if not isinstance(value, bool):
        raise _misfit(value, "true or false")
    return value


def _integer(data_type: DataType, value: WrittenOne) -> Constant:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _misfit(value, "a whole number")
    most = 2 ** (_INTEGER_BITS[data_type.kind] - 1)
    if not -most <= value < most:
        raise _misfit(value, f"a whole number from {-most} to {most - 1}")
    return value


def _double(_data_type: DataType, value: WrittenOne) -> Constant:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _misfit(value, "a number")
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    if not isfinite(number):
        raise _misfit(value, "a finite number")
    return number


def _decimal(data_type: DataType, value: WrittenOne) -> Constant:
    if isinstance(value, bool):
        raise _misfit(value, "a number")
    try:
        number = Decimal(str(value)[:200])
        fits = number.is_finite() and abs(number) < 10 ** (data_type.precision - data_type.scale)
        exact = number.quantize(Decimal(1).scaleb(-data_type.scale)) if fits else number
    except InvalidOperation:
        fits = False
    if not fits or exact != number:
        raise _misfit(value, f"a {data_type}")
    return exact


def _text(_data_type: DataType, value: WrittenOne) -> Constant:
    if not isinstance(value, str):
        raise _misfit(value, "a text")
    if len(value) > LONGEST_TEXT:
        raise ValueError(f"a text of {len(value)} characters; the limit is {LONGEST_TEXT}")
    return value


def _date(_data_type: DataType, value: WrittenOne) -> Constant:
    moment = parse_timestamp(value) if isinstance(value, str) else None
    if moment is None or moment.tzinfo is not None or moment != datetime(*moment.timetuple()[:3]):  # noqa: DTZ001 - a date has no zone
        raise _misfit(value, "a date such as '2024-01-31'")
    return moment.date()


def _timestamp(_data_type: DataType, value: WrittenOne) -> Constant:
    moment = parse_timestamp(value) if isinstance(value, str) else None
    if moment is None:
        raise _misfit(value, "a time such as '2024-01-31T10:00:00Z'")
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _local_timestamp(_data_type: DataType, value: WrittenOne) -> Constant:
    moment = parse_timestamp(value) if isinstance(value, str) else None
    if moment is None or moment.tzinfo is not None:
        raise _misfit(value, "a time without an offset, such as '2024-01-31T10:00:00'")
    return moment


def _interval(_data_type: DataType, value: WrittenOne) -> Constant:
    interval = parse_interval(value) if isinstance(value, str) else None
    if interval is None:
        raise _misfit(value, "an interval such as '10 minutes'")
    return interval


def _misfit(value: Written, wanted: str) -> ValueError:
    shown = repr(value) if isinstance(value, str) else str(value).lower()
    return ValueError(f"{shown[:100]} is not {wanted}")


_READERS: Final[Mapping[Kind, Callable[[DataType, WrittenOne], Constant]]] = {
    Kind.BOOLEAN: _boolean,
    Kind.TINYINT: _integer,
    Kind.SMALLINT: _integer,
    Kind.INT: _integer,
    Kind.BIGINT: _integer,
    Kind.FLOAT: _double,
    Kind.DOUBLE: _double,
    Kind.DECIMAL: _decimal,
    Kind.STRING: _text,
    Kind.DATE: _date,
    Kind.TIMESTAMP: _timestamp,
    Kind.TIMESTAMP_NTZ: _local_timestamp,
    Kind.INTERVAL: _interval,
}

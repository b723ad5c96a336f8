"""CAST from and to the basic types: NULL wherever a value does not fit.

* A number is truncated for an integer target and rounded half up for a DECIMAL.
* A STRING is read as a number, as `true t yes y 1` or `false f no n 0`, or as ISO 8601; blanks
  around it do not matter.
* A BOOLEAN is 1 or 0, and a number is true unless it is 0.
* A DATE is midnight of that day, in UTC for a TIMESTAMP; a TIMESTAMP has the date it has in UTC.
* As STRING a number is in its shortest notation (a double as in Java, a decimal without trailing
  zeros, for its declared scale is unknown where there is no schema), a date `2024-01-31`, a
  timestamp `2024-01-31 10:00:00.5`, in UTC if it has an offset.

Source: Spark SQL reference, "try_cast".
"""

import math
import re
import struct
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal, DecimalException

from cep.expression.temporal import naive_utc, parse_date, parse_timestamp
from cep.expression.types import DataType, Kind
from cep.expression.values import EXACT, Group, Mismatch, Value, group_of, to_double

# Each digit can be read in one way only: Python's `re` would try all others before it gives up.
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4})?", re.ASCII)
_SPECIAL_DOUBLE = re.compile(r"[+-]?(?:nan|inf|infinity)", re.ASCII | re.IGNORECASE)
_TRUE = {"true", "t", "yes", "y", "1"}
_FALSE = {"false", "f", "no", "n", "0"}
_DIGITS = 20  # more than any 64 bit integer has
_MAX_EXPONENT = 400
"""Beyond that a Decimal, which only Python code can have made, has no plain form."""
_BITS = {Kind.TINYINT: 8, Kind.SMALLINT: 16, Kind.INT: 32, Kind.BIGINT: 64}

# Which groups of values can be cast to a type at all.
_BASIC = frozenset({Group.NUMBER, Group.TEXT, Group.BOOLEAN})
_TIMES = frozenset({Group.TEXT, Group.MOMENT})
SOURCES: dict[Kind, frozenset[Group]] = {
    **dict.fromkeys([*_BITS, Kind.FLOAT, Kind.DOUBLE, Kind.DECIMAL, Kind.BOOLEAN], _BASIC),
    **dict.fromkeys([Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ], _TIMES),
    Kind.STRING: _BASIC | {Group.MOMENT},
}


def caster(target: DataType) -> Callable[[Value], Value]:
    """Return the function that casts a value that is not NULL to the type.

    It raises `Mismatch` for a value of a group that cannot be cast to it.
    """
    sources = SOURCES[target.kind]
    cast = _caster(target)

    def checked(value: Value) -> Value:
        if group_of(value) not in sources:
            raise Mismatch
        return cast(value)

    return checked


def _caster(target: DataType) -> Callable[[Value], Value]:  # noqa: PLR0911 - one line per type
    match target.kind:
        case Kind.STRING:
            return to_text
        case Kind.BOOLEAN:
            return _to_boolean
        case Kind.DOUBLE:
            return _to_double
        case Kind.FLOAT:
            return _to_float
        case Kind.DECIMAL:
            return lambda value: _to_decimal(value, target.precision, target.scale)
        case Kind.DATE:
            return _to_date
        case Kind.TIMESTAMP:
            return _to_timestamp
        case Kind.TIMESTAMP_NTZ:
            return _to_timestamp_ntz
        case _:
            limit = 2 ** (_BITS[target.kind] - 1)
            return lambda value: _to_integer(value, limit)


def to_text(value: Value) -> str:  # noqa: PLR0911 - one line per type
    """Return a value of a basic type as text."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case float():
            return _double_text(value)
        case Decimal():
            return _decimal_text(value)
        case datetime():
            return naive_utc(value).isoformat(" ").rstrip("0" if value.microsecond else "")
        case date():
            return value.isoformat()
        case _:
            return str(value)


def _decimal_text(value: Decimal) -> str:
    if not value.is_finite():
        return _double_text(float(value))
    if value == 0:
        return "0"
    if abs(value.adjusted()) > _MAX_EXPONENT:
        return str(value)
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _double_text(value: float) -> str:
    """Return Java's notation: scientific outside of 0.001 to 10 million."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    value += 0.0  # -0.0 equals 0.0, so both have one text
    if value == 0 or 1e-3 <= abs(value) < 1e7:  # noqa: PLR2004 - the limits of Double.toString
        return repr(value) if "e" not in repr(value) else format(Decimal(repr(value)), "f")
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    text = "".join(map(str, digits))
    power = len(text) - 1 + int(exponent)
    return f"{'-' if sign else ''}{text[0]}.{text[1:] or '0'}E{power}"


def _number(text: str) -> Decimal | None:
    stripped = text.strip()
    return Decimal(stripped) if _NUMBER.fullmatch(stripped) else None


def _to_boolean(value: Value) -> bool | None:
    if isinstance(value, str):
        word = value.strip().casefold()
        return True if word in _TRUE else False if word in _FALSE else None
    return bool(value != 0)


def _to_double(value: Value) -> float | None:
    if isinstance(value, str):
        stripped = value.strip()
        is_number = _NUMBER.fullmatch(stripped) or _SPECIAL_DOUBLE.fullmatch(stripped)
        return float(stripped) if is_number else None
    return to_double(value)


def _to_float(value: Value) -> float | None:
    double = _to_double(value)
    if double is None:
        return None
    try:
        return float(struct.unpack("f", struct.pack("f", double))[0])
    except OverflowError:
        return math.copysign(math.inf, double)


def _to_integer(value: Value, limit: int) -> int | None:
    number = _number(value) if isinstance(value, str) else value
    if number is None:
        return None
    if isinstance(number, float) and not math.isfinite(number):
        return None
    if isinstance(number, Decimal) and (not number.is_finite() or number.adjusted() > _DIGITS):
        return None
    whole = int(number)
    return whole if -limit <= whole < limit else None


def _to_decimal(value: Value, precision: int, scale: int) -> Decimal | None:
    if isinstance(value, float):
        number: Decimal | None = Decimal(repr(value))
    else:
        number = _number(value) if isinstance(value, str) else Decimal(value)
    if number is None or not number.is_finite() or number.adjusted() > precision:
        return None
    try:
        rounded = number.quantize(Decimal((0, (1,), -scale)), context=EXACT)
    except DecimalException:
        return None
    return rounded if len(rounded.as_tuple().digits) <= precision or rounded == 0 else None


def _to_date(value: Value) -> date | None:
    return parse_date(value) if isinstance(value, str) else naive_utc(value).date()


def _to_timestamp_ntz(value: Value) -> datetime | None:
    moment = parse_timestamp(value) if isinstance(value, str) else value
    return None if moment is None else naive_utc(moment)


def _to_timestamp(value: Value) -> datetime | None:
    naive = _to_timestamp_ntz(value)
    return None if naive is None else naive.replace(tzinfo=UTC)

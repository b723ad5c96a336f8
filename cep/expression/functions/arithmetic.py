"""Arithmetic on values that are not NULL; `None` stands for a result that is.

| operands                        | result                                                        |
|---------------------------------|---------------------------------------------------------------|
| integer `+ - * %` integer       | integer; NULL beyond 64 bits                                  |
| integer `/` integer             | DOUBLE                                                        |
| decimal with decimal or integer | decimal of at most 20 + 18 digits, half up; NULL beyond       |
| floating point with any number  | DOUBLE, with infinities and NaN                               |
| anything `/` or `%` zero        | NULL                                                          |
| timestamp or date `+ -` interval| timestamp; NULL outside the years 1 to 9999                   |
| timestamp or date `-` another   | interval                                                      |
| interval `+ -` interval         | interval; NULL beyond 64 bits of microseconds                 |

`%` has the sign of its left side. `ROUND` is half up, away from zero, on the shortest decimal
notation of the number, so `ROUND(1.005, 2)` is 1.01.

Source: Spark SQL reference, "Arithmetic operators" (non-ANSI, but for overflow, which is NULL).
"""

import math
from collections.abc import Callable
from datetime import timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal, DecimalException

from cep.expression.errors import EvaluationError
from cep.expression.temporal import MAX_INTERVAL, naive_utc, parse_timestamp, shifted
from cep.expression.values import (
    EXACT,
    Group,
    Mismatch,
    Value,
    bigint,
    bounded,
    equal,
    group_of,
    to_double,
)

_NUMBER_TYPES = frozenset({int, float, Decimal})
_WIDE = EXACT.copy()
_WIDE.prec = 800  # the shortest notation of a double may have 340 digits around the point


def add(left: Value, right: Value) -> Value:
    """Return the sum of two numbers or intervals, or a point in time moved by an interval."""
    if _meet_as_doubles(left, right):
        return to_double(left) + to_double(right)
    match group_of(left), group_of(right):
        case Group.NUMBER, Group.NUMBER:
            return _numeric(left, right, int.__add__, EXACT.add, float.__add__)
        case Group.INTERVAL, Group.INTERVAL:
            return _interval(left, right)
        case ((Group.MOMENT | Group.TEXT), Group.INTERVAL):
            return _moved(left, right)
        case Group.INTERVAL, (Group.MOMENT | Group.TEXT):
            return _moved(right, left)
        case _:
            raise Mismatch


def subtract(left: Value, right: Value) -> Value:
    """Return the difference of two numbers, intervals or points in time."""
    if _meet_as_doubles(left, right):
        return to_double(left) - to_double(right)
    match group_of(left), group_of(right):
        case Group.NUMBER, Group.NUMBER:
            return _numeric(left, right, int.__sub__, EXACT.subtract, float.__sub__)
        case Group.INTERVAL, Group.INTERVAL:
            return _interval(left, -right)
        case ((Group.MOMENT | Group.TEXT), Group.INTERVAL):
            return _moved(left, -right)
        case (Group.MOMENT, Group.MOMENT) | (Group.MOMENT, Group.TEXT) | (Group.TEXT, Group.MOMENT):
            later, earlier = _moment(left), _moment(right)
            if later is None or earlier is None:
                return None
            return naive_utc(later) - naive_utc(earlier)
        case _:
            raise Mismatch


def multiply(left: Value, right: Value) -> Value:
    """Return the product of two numbers."""
    if _meet_as_doubles(left, right):
        return to_double(left) * to_double(right)
    _require_numbers(left, right)
    return _numeric(left, right, int.__mul__, EXACT.multiply, float.__mul__)


def divide(left: Value, right: Value) -> Value:
    """Return the quotient of two numbers, NULL by zero; DOUBLE for two integers."""
    _require_numbers(left, right)
    if right == 0:
        return None
    if _both(int, left, right) or not _is_exact(left, right):
        return to_double(left) / to_double(right)
    return _decimal(EXACT.divide, left, right)


def modulo(left: Value, right: Value) -> Value:
    """Return the remainder with the sign of `left`, NULL by zero."""
    _require_numbers(left, right)
    if right == 0:
        return None
    if _both(int, left, right):
        return bigint(int(math.copysign(1, left)) * (abs(left) % abs(right)))
    if not _is_exact(left, right):
        dividend, divisor = to_double(left), to_double(right)
        return math.nan if math.isinf(dividend) else math.fmod(dividend, divisor)
    return _decimal(EXACT.remainder, left, right)


def iso_divide(left: Value, right: Value) -> Value:
    """Return the quotient as the SQL standard has it: of two integers, truncated towards zero.

    Raises:
        EvaluationError: the divisor is zero.
    """
    _require_numbers(left, right)
    if right == 0:
        raise EvaluationError("division by zero")
    if _both(int, left, right):
        return bigint(abs(left) // abs(right) * (1 if (left < 0) is (right < 0) else -1))
    return divide(left, right)


def iso_modulo(left: Value, right: Value) -> Value:
    """Return the remainder with the sign of `left`; errors as of `iso_divide`."""
    _require_numbers(left, right)
    if right == 0:
        raise EvaluationError("division by zero")
    return modulo(left, right)


def array_equals(left: Value, right: Value) -> Value:
    """Return whether two arrays have equal elements; NULL where an element makes it unknown."""
    if group_of(left) is not Group.ARRAY or group_of(right) is not Group.ARRAY:
        raise Mismatch
    if len(left) != len(right):
        return False
    known: bool | None = True
    for one, other in zip(left, right, strict=True):
        same = None if one is None or other is None else equal(one, other)
        if same is False:
            return False
        known = known if same else None
    return known


def negate(value: Value) -> Value:
    """Return the number or interval with its sign changed."""
    match group_of(value):
        case Group.NUMBER if isinstance(value, int):
            return bigint(-value)
        case Group.NUMBER:
            return -value if isinstance(value, float) else value.copy_negate()
        case Group.INTERVAL:
            return -value
        case _:
            raise Mismatch


def absolute(value: Value) -> Value:
    """Return the number without its sign."""
    _require_numbers(value)
    if isinstance(value, int):
        return bigint(abs(value))
    return abs(value) if isinstance(value, float) else value.copy_abs()


def round_half_up(value: Value, digits: Value = 0) -> Value:
    """Return the number rounded to so many fractional digits; -1 rounds to tens."""
    _require_numbers(value, digits)
    if not math.isfinite(digits):
        raise Mismatch
    if isinstance(value, float) and not math.isfinite(value):
        return value
    # More digits than a double or a decimal has change nothing, and would need as much memory.
    digits = max(-400, min(400, int(digits)))
    exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    exponent = exact.as_tuple().exponent
    if isinstance(exponent, int) and exponent >= -digits:
        rounded = exact
    elif exact.adjusted() < -digits - 1:
        rounded = Decimal(0).copy_sign(exact)
    else:
        unit = Decimal((0, (1,), -digits))
        rounded = exact.quantize(unit, rounding=ROUND_HALF_UP, context=_WIDE)
    if isinstance(value, int):
        return bigint(int(rounded))
    return to_double(rounded) if isinstance(value, float) else bounded(rounded)


def floor(value: Value) -> Value:
    """Return the largest whole number not above, in the type of the argument."""
    return _whole(value, math.floor, ROUND_FLOOR)


def ceil(value: Value) -> Value:
    """Return the smallest whole number not below, in the type of the argument."""
    return _whole(value, math.ceil, ROUND_CEILING)


def _require_numbers(*values: Value) -> None:
    if any(group_of(value) is not Group.NUMBER for value in values):
        raise Mismatch


def _is_exact(left: Value, right: Value) -> bool:
    """Whether neither is binary floating point, nor an infinite decimal."""
    return not any(
        isinstance(value, float) or (isinstance(value, Decimal) and not value.is_finite())
        for value in (left, right)
    )


def _both(kind: type, left: Value, right: Value) -> bool:
    return isinstance(left, kind) and isinstance(right, kind)


def _meet_as_doubles(left: Value, right: Value) -> bool:
    """Whether one is a double and the other a number; said first, for it is the usual case."""
    kinds = (type(left), type(right))
    return float in kinds and kinds[0] in _NUMBER_TYPES and kinds[1] in _NUMBER_TYPES


def _numeric(
    left: Value,
    right: Value,
    integer: Callable[[int, int], int],
    decimal: Callable[[Decimal, Decimal], Decimal],
    double: Callable[[float, float], float],
) -> Value:
    if _both(int, left, right):
        return bigint(integer(left, right))
    if _is_exact(left, right):
        return _decimal(decimal, left, right)
    return double(to_double(left), to_double(right))


def _decimal(operation: Callable[[Decimal, Decimal], Decimal], left: Value, right: Value) -> Value:
    try:
        return bounded(operation(Decimal(left), Decimal(right)))
    except DecimalException:  # exponents only a Decimal made by hand can have
        return None


def _interval(left: timedelta, right: timedelta) -> timedelta | None:
    try:
        result = left + right
    except OverflowError:
        return None
    return result if abs(result) <= MAX_INTERVAL else None


def _moment(value: Value) -> Value:
    return parse_timestamp(value) if isinstance(value, str) else value


def _moved(value: Value, interval: timedelta) -> Value:
    moment = _moment(value)
    return None if moment is None else shifted(moment, interval)


def _whole(value: Value, of_double: Callable[[float], int], rounding: str) -> Value:
    _require_numbers(value)
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return float(of_double(value)) if math.isfinite(value) else value
    if not value.is_finite():
        return to_double(value)
    return bounded(value.to_integral_value(rounding=rounding, context=EXACT))

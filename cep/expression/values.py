"""What values mean: their kinds, one total order for comparisons, and exact against binary numbers.

The scalar evaluator computes with these functions, and the columnar one falls back to them, so they
are the definition of the language. They are total over the values of a checked expression; where no
schema was checked, values of kinds that cannot be compared raise `Mismatch`.

* Numbers: integers and decimals compare exactly, either with a floating point number as DOUBLE. NaN
  equals NaN and is greater than every other number; -0.0 equals 0.0.
* Texts compare by code point, points in time as in `temporal`; false is less than true.
* A text compared with a point in time is read as ISO 8601; one that cannot be read counts as NULL.

Source: Spark SQL reference, "NaN Semantics" and "NULL Semantics".
"""

from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from enum import IntEnum
from math import isnan
from typing import Any

from cep.expression.temporal import naive_utc, parse_timestamp
from cep.expression.tree import ComparisonOperator

Value = Any
"""bool, int, float, Decimal, str, datetime, date, timedelta, a list, a mapping, or None."""

MIN_BIGINT, MAX_BIGINT = -(2**63), 2**63 - 1
MAX_SCALE = 18
MAX_COMPUTED_TEXT = 65_536
"""How many characters a text may have that is put together from others."""
_LARGEST_DECIMAL = Decimal(10) ** 20
# Wide enough that sums, products and comparisons of 38 digit numbers are exact.
EXACT = Context(prec=100, rounding=ROUND_HALF_UP)


class Group(IntEnum):
    """Values of one group can be compared with each other."""

    BOOLEAN = 0
    NUMBER = 1
    TEXT = 2
    MOMENT = 3
    INTERVAL = 4
    ARRAY = 5
    STRUCT = 6
    OTHER = 7


_TYPES: dict[type, tuple[Group, str]] = {
    bool: (Group.BOOLEAN, "BOOLEAN"),
    int: (Group.NUMBER, "BIGINT"),
    float: (Group.NUMBER, "DOUBLE"),
    Decimal: (Group.NUMBER, "DECIMAL"),
    str: (Group.TEXT, "STRING"),
    datetime: (Group.MOMENT, "TIMESTAMP"),
    date: (Group.MOMENT, "DATE"),
    timedelta: (Group.INTERVAL, "INTERVAL"),
    list: (Group.ARRAY, "ARRAY"),
    tuple: (Group.ARRAY, "ARRAY"),
    dict: (Group.STRUCT, "STRUCT"),
}
_GROUPS = {python: group for python, (group, _) in _TYPES.items()}
# Values of these types need no more than Python's own comparison when both are of the same one.
PLAIN_TYPES = frozenset({int, str, bool, timedelta})


class Mismatch(Exception):
    """An operation met values of types it has no meaning for."""


def group_of(value: Value) -> Group:
    """Return the group of a value that is not None."""
    found = _GROUPS.get(type(value))
    if found is None:
        found = next((g for t, g in _GROUPS.items() if isinstance(value, t)), None)
    if found is None:
        found = Group.STRUCT if isinstance(value, Mapping) else Group.OTHER
    return found


def type_name(value: Value) -> str:
    """Return the SQL name of a value's type, or the Python one of a foreign type."""
    names = (_TYPES[base][1] for base in type(value).__mro__ if base in _TYPES)
    return next(names, type(value).__qualname__)


def to_double(number: Value) -> float:
    """Return the nearest double; infinity for an integer that is too large for one."""
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def bigint(value: int) -> int | None:
    """Return the integer, NULL where it overflows 64 bits, as Spark's `try_add` has it."""
    return value if MIN_BIGINT <= value <= MAX_BIGINT else None


def bounded(value: Decimal) -> Decimal | None:
    """Return a computed decimal in the room there is: 18 fractional digits (half up), 20 others.

    The room does not depend on declared precisions, so that a value computed without a schema is
    the same one. NULL where it overflows. DECIMAL(38,18) is also Spark's and Flink's default.
    """
    exponent = value.as_tuple().exponent
    if isinstance(exponent, int) and exponent < -MAX_SCALE:
        value = value.quantize(Decimal((0, (1,), -MAX_SCALE)), context=EXACT)
    return value if abs(value) < _LARGEST_DECIMAL else None


def order(left: Value, right: Value) -> int | None:
    """Return -1, 0 or 1 as `left` sorts before, with or after `right`; `None` for unknown.

    Neither may be None.

    Raises:
        Mismatch: if the two cannot be compared.
    """
    one, other = group_of(left), group_of(right)
    if one is Group.TEXT and other is Group.MOMENT:
        left, one = parse_timestamp(left), other
    elif one is Group.MOMENT and other is Group.TEXT:
        right, other = parse_timestamp(right), one
    if one is not other or one >= Group.ARRAY:
        raise Mismatch
    if left is None or right is None:
        return None
    if one is Group.MOMENT:
        left, right = naive_utc(left), naive_utc(right)
    elif one is Group.NUMBER and (_is_binary(left) or _is_binary(right)):
        left, right = to_double(left), to_double(right)
        if isnan(left) or isnan(right):
            return isnan(left) - isnan(right)
    return int(left > right) - int(left < right)


def _is_binary(number: Value) -> bool:
    return isinstance(number, float) or (isinstance(number, Decimal) and not number.is_finite())


def equal(left: Value, right: Value) -> bool | None:
    """Return whether the two are equal, `None` for unknown; errors as of `order`."""
    kind = type(left)
    if kind is type(right) and kind in PLAIN_TYPES:
        return bool(left == right)
    found = order(left, right)
    return None if found is None else found == 0


def less(left: Value, right: Value) -> bool | None:
    """Return whether `left` sorts before `right`, `None` for unknown; errors as of `order`."""
    kind = type(left)
    if kind is type(right):
        if kind in PLAIN_TYPES:
            return bool(left < right)
        if kind is float:  # NaN is the greatest; Python finds it neither less nor greater
            return bool(left < right) or (isnan(right) and not isnan(left))
    found = order(left, right)
    return None if found is None else found < 0


def _negated(test: Callable[[Value, Value], bool | None]) -> Callable[[Value, Value], bool | None]:
    def opposite(left: Value, right: Value) -> bool | None:
        found = test(left, right)
        return None if found is None else not found

    return opposite


def _greater(left: Value, right: Value) -> bool | None:
    return less(right, left)


COMPARE: dict[ComparisonOperator, Callable[[Value, Value], bool | None]] = {
    ComparisonOperator.EQUAL: equal,
    ComparisonOperator.NOT_EQUAL: _negated(equal),
    ComparisonOperator.LESS: less,
    ComparisonOperator.LESS_OR_EQUAL: _negated(_greater),
    ComparisonOperator.GREATER: _greater,
    ComparisonOperator.GREATER_OR_EQUAL: _negated(less),
}


def distinct(left: Value, right: Value) -> bool:
    """Return whether `left IS DISTINCT FROM right`; either may be None; errors as of `order`.

    A text that cannot be read as the point in time it is compared with is distinct from it.
    """
    if left is None or right is None:
        return left is not right
    return equal(left, right) is not True

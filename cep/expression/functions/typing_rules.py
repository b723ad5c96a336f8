"""Typing rules: the type of a result from the types of the operands, or why they do not fit.

Read by the table in `functions` and by the type check. An unknown type (NULL, or a column without a
schema) fits everywhere.
"""

from collections.abc import Callable

from cep.expression.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INTERVAL,
    MAX_DECIMAL_PRECISION,
    NULL,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    UNKNOWN,
    DataType,
    Kind,
)
from cep.expression.values import MAX_SCALE

MAX_WHOLE_DIGITS = 20
BIGINT_DIGITS = 19
Types = tuple[DataType, ...]


class TypeMismatch(Exception):
    """Types that do not fit; `hint` says how to fix it."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def computed_decimal(whole_digits: int, scale: int) -> DataType:
    """Return the type of a computed decimal: at most 20 whole and 18 fractional digits."""
    scale = min(scale, MAX_SCALE)
    return DataType(Kind.DECIMAL, min(whole_digits, MAX_WHOLE_DIGITS) + scale, scale)


def decimal_digits(data_type: DataType) -> tuple[int, int]:
    """Return how many whole and how many fractional digits a decimal or integer type has."""
    if data_type.kind is Kind.DECIMAL:
        return data_type.precision - data_type.scale, data_type.scale
    return BIGINT_DIGITS, 0


def comparable(left: DataType, right: DataType) -> bool:
    """Return whether values of the two types can be compared."""
    if left.is_open or right.is_open:
        return True
    if left.is_numeric or right.is_numeric:
        return left.is_numeric and right.is_numeric
    if left.is_temporal or right.is_temporal:
        return left.is_temporal and right.is_temporal
    return left == right and left.kind in {Kind.BOOLEAN, Kind.STRING, Kind.INTERVAL}


def common(left: DataType, right: DataType) -> DataType | None:
    """Return the common type of branches of both types, `None` if there is none."""
    if left.kind is Kind.NULL:
        return right
    if right.kind is Kind.NULL or left == right:
        return left
    if UNKNOWN in {left, right}:
        return UNKNOWN
    if left.kind is right.kind is Kind.DECIMAL:
        (left_whole, left_scale), (right_whole, right_scale) = map(decimal_digits, (left, right))
        scale = max(left_scale, right_scale)
        precision = max(left_whole, right_whole) + scale
        fits = precision <= MAX_DECIMAL_PRECISION
        return DataType(Kind.DECIMAL, precision, scale) if fits else None
    return None


def number(types: Types) -> DataType:
    """One number, and the result has its type."""
    (only,) = types
    if not (only.is_numeric or only.is_open):
        raise TypeMismatch(f"needs a number, not a {only}", _cast_hint(only, "DOUBLE"))
    return only


def rounded(types: Types) -> DataType:
    """A number and whole numbers; the result of decimals has the standard precision."""
    first, *others = types
    for other in others:
        if other.kind is not Kind.BIGINT and not other.is_open:
            raise TypeMismatch(f"needs a whole number of digits, not a {other}")
    result = number((first,))
    if result.kind is not Kind.DECIMAL:
        return result
    whole, scale = decimal_digits(result)
    return computed_decimal(whole + 1, scale)


def signed(types: Types) -> DataType:
    """A number or an interval keeps its type."""
    (only,) = types
    return only if only.kind is Kind.INTERVAL else number(types)


def _numbers(types: Types, decimal: Callable[[int, int, int, int], tuple[int, int]]) -> DataType:
    for data_type in types:
        number((data_type,))
    left, right = types
    if left.is_open or right.is_open:
        return NULL if Kind.NULL in {left.kind, right.kind} else UNKNOWN
    if Kind.DOUBLE in {left.kind, right.kind}:
        return DOUBLE
    if left.kind is right.kind is Kind.BIGINT:
        return BIGINT
    return computed_decimal(*decimal(*decimal_digits(left), *decimal_digits(right)))


def numeric(types: Types) -> DataType:
    """`%`: two numbers, the result never longer than the wider of them."""
    return _numbers(types, lambda w1, s1, w2, s2: (max(w1, w2), max(s1, s2)))


def product(types: Types) -> DataType:
    """`*`: the digits before and after the point are added up."""
    return _numbers(types, lambda w1, s1, w2, s2: (w1 + w2, s1 + s2))


def quotient(types: Types) -> DataType:
    """`/`: DOUBLE, or a decimal with the largest precision."""
    result = _numbers(types, lambda *_: (MAX_WHOLE_DIGITS, MAX_SCALE))
    return DOUBLE if result.kind is Kind.BIGINT else result


def iso_quotient(types: Types) -> DataType:
    """`/` of the SQL standard: BIGINT for two integers."""
    result = quotient(types)
    return BIGINT if all(of_side.kind is Kind.BIGINT for of_side in types) else result


def arrays(types: Types) -> DataType:
    """`=` of two arrays."""
    left, right = types
    if left.is_open or right.is_open:
        return BOOLEAN
    elements = [side.element for side in types if side.element is not None]
    if len(elements) < len(types) or not comparable(*elements):
        raise TypeMismatch(f"cannot compare {left} with {right}", "")
    return BOOLEAN


def _sum(types: Types) -> DataType:
    return _numbers(types, lambda w1, s1, w2, s2: (max(w1, w2) + 1, max(s1, s2)))


def total(types: Types) -> DataType:
    """`+`: numbers, intervals, or a point in time and an interval."""
    left, right = types
    if Kind.INTERVAL not in {left.kind, right.kind}:
        return _sum(types) if not _any_temporal(types) else _refuse_shift(types)
    other = right if left.kind is Kind.INTERVAL else left
    return _shifted(other)


def difference(types: Types) -> DataType:
    """`-`: numbers, intervals, a point in time and an interval, or two points in time."""
    left, right = types
    if right.kind is Kind.INTERVAL:
        return _shifted(left)
    if left.kind is Kind.INTERVAL:
        if right.is_open:
            return INTERVAL
        raise TypeMismatch(f"cannot take a {right} from an INTERVAL")
    if _any_temporal(types):
        if all(data_type.is_temporal or data_type.is_open for data_type in types):
            # A NULL or unknown right side may be a moment or an interval.
            return INTERVAL if all(t.is_temporal for t in types) else UNKNOWN
        return _refuse_shift(types)
    return _sum(types)


def _any_temporal(types: Types) -> bool:
    return any(data_type.is_temporal for data_type in types)


def _refuse_shift(types: Types) -> DataType:
    if any(data_type.is_open for data_type in types):
        return UNKNOWN
    hint = "add or subtract an interval: ts - INTERVAL '10' MINUTE"
    raise TypeMismatch(f"cannot compute with {types[0]} and {types[1]}", hint)


def _shifted(moment: DataType) -> DataType:
    match moment.kind:
        case Kind.DATE | Kind.TIMESTAMP_NTZ:
            return TIMESTAMP_NTZ
        case Kind.TIMESTAMP:
            return TIMESTAMP
        case Kind.INTERVAL:
            return INTERVAL
        case Kind.NULL | Kind.UNKNOWN:
            return moment
        case _:
            hint = _cast_hint(moment, "TIMESTAMP")
            raise TypeMismatch(f"cannot move a {moment} by an INTERVAL", hint)


def joined_texts(types: Types) -> DataType:
    """Return the type of texts joined by CONCAT or `||`, which other languages have for OR."""
    try:
        return texts(STRING, len(types))(types)
    except TypeMismatch as mismatch:
        hint = f"{mismatch.hint}; between conditions write OR, since || joins texts"
        raise TypeMismatch(str(mismatch), hint.removeprefix("; ")) from None


def texts(result: DataType, count: int) -> Callable[[Types], DataType]:
    """Return the rule of a function of `count` texts, followed by whole numbers."""

    def rule(types: Types) -> DataType:
        for data_type in types[:count]:
            if data_type.kind is not Kind.STRING and not data_type.is_open:
                hint = _cast_hint(data_type, "STRING")
                raise TypeMismatch(f"needs a text, not a {data_type}", hint)
        for data_type in types[count:]:
            if data_type.kind is not Kind.BIGINT and not data_type.is_open:
                raise TypeMismatch(f"needs a whole number, not a {data_type}")
        return result

    return rule


def date_part(types: Types) -> DataType:
    """A part of a date or timestamp is a whole number."""
    (only,) = types
    if not (only.is_temporal or only.is_open):
        hint = _cast_hint(only, "TIMESTAMP")
        raise TypeMismatch(f"needs a date or timestamp, not a {only}", hint)
    return BIGINT


def array_contains(types: Types) -> DataType:
    """An array and a value its elements can be compared with."""
    array, item = types
    if array.is_open:
        return BOOLEAN
    if array.kind is not Kind.ARRAY or array.element is None:
        raise TypeMismatch(f"needs an ARRAY, not a {array}")
    if not comparable(array.element.computed, item):
        raise TypeMismatch(f"an {array} cannot hold a {item}")
    return BOOLEAN


def _cast_hint(data_type: DataType, target: str) -> str:
    castable = data_type.kind in {Kind.STRING, Kind.BOOLEAN} or data_type.is_numeric
    return f"cast it: CAST(... AS {target})" if castable else ""

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
    to_polars,
)
from cep.expression.values import MAX_SCALE

MAX_WHOLE_DIGITS = 20
BIGINT_DIGITS = 19
Types = tuple[DataType, ...]
TypeRule = Callable[[Types], DataType]


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
        raise TypeMismatch(f"needs a number, not a {only}", cast_hint(only, "DOUBLE"))
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
            hint = cast_hint(moment, "TIMESTAMP")
            raise TypeMismatch(f"cannot move a {moment} by an INTERVAL", hint)


def joined_texts(types: Types) -> DataType:
    """Return the type of texts joined by CONCAT or `||`, which other languages have for OR."""
    for data_type in types:
        if data_type.kind is not Kind.STRING and not data_type.is_open:
            hint = cast_hint(data_type, "STRING")
            hint = f"{hint}; between conditions write OR, since || joins texts".removeprefix("; ")
            raise TypeMismatch(f"needs a text, not a {data_type}", hint)
    return STRING


def whole_numbers(types: Types) -> DataType:
    """Whole numbers, as of the operators on bits."""
    for data_type in types:
        if data_type.kind is not Kind.BIGINT and not data_type.is_open:
            hint = cast_hint(data_type, "BIGINT")
            if data_type.kind is Kind.BOOLEAN:
                hint = "between conditions write AND, OR and NOT"
            raise TypeMismatch(f"needs whole numbers, not a {data_type}", hint)
    return BIGINT


def hexadecimal(types: Types) -> DataType:
    """HEX: a text or a whole number."""
    (only,) = types
    if only.kind not in {Kind.STRING, Kind.BIGINT} and not only.is_open:
        raise TypeMismatch(f"needs a text or a whole number, not a {only}")
    return STRING


def truncated(types: Types) -> DataType:
    """DATE_TRUNC: the beginning of a unit is of the type of the time, without zone of a DATE."""
    _, moment = types
    if moment.is_open:
        return moment
    if not moment.is_temporal:
        hint = cast_hint(moment, "TIMESTAMP")
        raise TypeMismatch(f"needs a date or timestamp, not a {moment}", hint)
    return TIMESTAMP if moment.kind is Kind.TIMESTAMP else TIMESTAMP_NTZ


def alike(types: Types) -> DataType:
    """GREATEST and LEAST: values of one type, which can be compared."""
    found = _common_type(types)
    if not comparable(found, found):
        raise TypeMismatch(f"cannot order {found}")
    return found


def array_of(types: Types) -> DataType:
    """ARRAY: elements of one type."""
    return DataType(Kind.ARRAY, element=_common_type(types))


def _common_type(types: Types) -> DataType:
    found = NULL
    for data_type in types:
        met = common(found, data_type)
        if met is None:
            hint = cast_hint(data_type, str(found))
            raise TypeMismatch(f"needs values of one type, not {found} and {data_type}", hint)
        found = met
    return found


def _element(array: DataType) -> DataType:
    """Return the type that the elements of an array are computed with."""
    if array.is_open:
        return UNKNOWN
    if array.kind is not Kind.ARRAY or array.element is None:
        raise TypeMismatch(f"needs an ARRAY, not a {array}")
    if not array.element.is_open:
        try:
            to_polars(array.element)
        except ValueError as error:
            raise TypeMismatch(f"cannot read the elements: {error}") from None
    return array.element.computed


def of_array(result: DataType) -> TypeRule:
    """Return the rule of a function of one array."""

    def rule(types: Types) -> DataType:
        _element(types[0])
        return result

    return rule


def element(types: Types) -> DataType:
    """GET and ELEMENT_AT: an array and a whole number."""
    array, place = types
    if place.kind is not Kind.BIGINT and not place.is_open:
        raise TypeMismatch(f"needs a whole number as the place of an element, not a {place}")
    return _element(array)


def array_and_item(result: DataType) -> TypeRule:
    """Return the rule of an array and a value its elements can be compared with."""

    def rule(types: Types) -> DataType:
        array, item = types
        if not comparable(_element(array), item):
            raise TypeMismatch(f"an {array} cannot hold a {item}")
        return result

    return rule


def arrays_of_one_type(types: Types) -> DataType:
    """ARRAYS_OVERLAP: two arrays whose elements can be compared."""
    one, other = types
    if not comparable(_element(one), _element(other)):
        raise TypeMismatch(f"cannot compare the elements of {one} and {other}")
    return BOOLEAN


def ordered_element(types: Types) -> DataType:
    """ARRAY_MIN and ARRAY_MAX: an array whose elements can be compared."""
    found = _element(types[0])
    if not comparable(found, found):
        raise TypeMismatch(f"cannot order the elements of {types[0]}")
    return found


def same_array(types: Types) -> DataType:
    """ARRAY_DISTINCT: an array whose elements can be compared."""
    return DataType(Kind.ARRAY, element=ordered_element(types))


def texts_and_arrays(types: Types) -> DataType:
    """CONCAT_WS: a delimiter, then texts and arrays of them."""
    for place, data_type in enumerate(types):
        inner = data_type.element if place and data_type.element is not None else data_type
        if inner.kind is not Kind.STRING and not inner.is_open:
            raise TypeMismatch(f"needs a text, not a {data_type}", cast_hint(data_type, "STRING"))
    return STRING


def joined_array(types: Types) -> DataType:
    """ARRAY_JOIN: an array of texts, a delimiter and perhaps a text instead of NULL."""
    array, *others = types
    return texts_and_arrays((*others, DataType(Kind.ARRAY, element=_element(array))))


def cast_hint(data_type: DataType, target: str) -> str:
    """Return what to write to get another type; empty if it cannot be cast."""
    castable = data_type.kind in {Kind.STRING, Kind.BOOLEAN} or data_type.is_numeric
    return f"cast it: CAST(... AS {target})" if castable else ""

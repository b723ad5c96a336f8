"""Columnar forms of the functions, for as far as polars computes exactly what the scalar form does.

A form returns `None` where polars would differ (in rounding, in overflow, in the sign of a
remainder); the columnar evaluator then applies the scalar form value by value.
"""

import operator
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import polars as pl

from cep.expression.functions.mathematics import EARTH_RADIUS, MAX_LATITUDE
from cep.expression.functions.operands import (
    NAIVE,
    Column,
    as_double,
    as_naive,
    computed_once,
    room,
)
from cep.expression.functions.typing_rules import MAX_WHOLE_DIGITS
from cep.expression.types import MAX_DECIMAL_PRECISION, OTHER, Kind, to_polars
from cep.expression.values import MAX_COMPUTED_TEXT, MAX_SCALE

_ZERO = pl.lit(0, dtype=pl.Int128)  # polars cannot negate 128 bits
_FIRST_MOMENT, _LAST_MOMENT = datetime.min, datetime.max  # noqa: DTZ901 - naive on purpose


def _wide(column: Column) -> pl.Expr:
    """128 bits hold any sum or product of BIGINTs; what overflows becomes NULL on the way back."""
    return column.expression.cast(pl.Int128)


def _bigint(expression: pl.Expr) -> pl.Expr:
    return expression.cast(pl.Int64, strict=False)


def _computed(
    columns: tuple[Column, ...],
    operation: Callable[[pl.Expr, pl.Expr], pl.Expr],
    digits: Callable[[int, int], int],
) -> pl.Expr | None:
    """Sum, difference or product of two numbers."""
    left, right = columns
    if Kind.DOUBLE in {left.kind, right.kind}:
        return operation(as_double(left), as_double(right))
    if left.kind is right.kind is Kind.BIGINT:
        return _bigint(operation(_wide(left), _wide(right)))
    whole, scale = room(left, right, digits, max if digits is _carry else digits)
    if whole > MAX_WHOLE_DIGITS or scale > MAX_SCALE:
        return None
    target = pl.Decimal(MAX_DECIMAL_PRECISION, scale)
    return operation(left.expression.cast(target), right.expression.cast(target))


def _carry(left: int, right: int) -> int:
    return max(left, right) + 1


def _are_numbers(columns: tuple[Column, ...]) -> bool:
    return all(column.data_type.is_numeric for column in columns)


def add(columns: tuple[Column, ...]) -> pl.Expr | None:
    """Numbers are added by polars, an interval moves a point in time within the years 1 to 9999."""
    left, right = columns
    if _are_numbers(columns):
        return _computed(columns, operator.add, _carry)
    if left.data_type.is_temporal:
        return _moved(left, right)
    if right.data_type.is_temporal:
        return _moved(right, left)
    return None


def subtract(columns: tuple[Column, ...]) -> pl.Expr | None:
    """As `add`; the difference of two points in time always fits an interval."""
    left, right = columns
    if _are_numbers(columns):
        return _computed(columns, operator.sub, _carry)
    if left.data_type.is_temporal and right.data_type.is_temporal:
        return as_naive(left) - as_naive(right)
    if left.data_type.is_temporal:
        return _moved(left, replace(right, expression=-right.expression))
    return None


def _moved(moment: Column, interval: Column) -> pl.Expr:
    def form(columns: tuple[Column, ...]) -> pl.Expr:
        # 64 bits may wrap round, but never back into the years there are.
        moved = as_naive(columns[0]) + columns[1].expression
        return pl.when(moved.is_between(_FIRST_MOMENT, _LAST_MOMENT)).then(moved)

    moved = computed_once((moment, interval), NAIVE, form)
    return moved.dt.replace_time_zone("UTC") if moment.kind is Kind.TIMESTAMP else moved


def multiply(columns: tuple[Column, ...]) -> pl.Expr | None:
    """Numbers are multiplied by polars."""
    return _computed(columns, operator.mul, operator.add)


def divide(columns: tuple[Column, ...]) -> pl.Expr | None:
    """Only quotients of type DOUBLE: polars rounds those of decimals to another scale."""
    left, right = columns
    if Kind.DECIMAL in {left.kind, right.kind} and Kind.DOUBLE not in {left.kind, right.kind}:
        return None
    return computed_once(columns, pl.Float64(), _quotient)


def _quotient(columns: tuple[Column, ...]) -> pl.Expr:
    dividend, divisor = map(as_double, columns)
    # By a scalar, polars multiplies with the reciprocal, which rounds twice; so never by a scalar.
    divisor += dividend.is_null().cast(pl.Float64) * 0.0
    return pl.when(divisor != 0).then(dividend / divisor)


def modulo(columns: tuple[Column, ...]) -> pl.Expr | None:
    """Only integers; the sign is put on afterwards, for polars takes that of the divisor."""
    left, right = columns
    if left.kind is not Kind.BIGINT or right.kind is not Kind.BIGINT:
        return None
    return computed_once(columns, pl.Int64(), _remainder)


def _remainder(columns: tuple[Column, ...]) -> pl.Expr:
    dividend, divisor = map(_wide, columns)
    remainder = dividend.abs() % divisor.abs()
    return _bigint(pl.when(dividend < 0).then(_ZERO - remainder).otherwise(remainder))


def negate(columns: tuple[Column, ...]) -> pl.Expr | None:
    """Change the sign; the smallest BIGINT has no opposite."""
    (only,) = columns
    return _bigint(_ZERO - _wide(only)) if only.kind is Kind.BIGINT else -only.expression


def absolute(columns: tuple[Column, ...]) -> pl.Expr | None:
    """Drop the sign; the smallest BIGINT has no opposite."""
    (only,) = columns
    return _bigint(_wide(only).abs()) if only.kind is Kind.BIGINT else only.expression.abs()


def round_half_up(columns: tuple[Column, ...]) -> pl.Expr | None:
    """Only to whole doubles: else polars rounds the binary number, not its decimal notation."""
    value, *digits = columns
    if value.kind is Kind.DOUBLE and (not digits or digits[0].constant == 0):
        return value.expression.round(0, mode="half_away_from_zero")
    return None


def whole(rounded: Callable[[pl.Expr], pl.Expr]) -> Callable[[tuple[Column, ...]], pl.Expr | None]:
    """Return the form of FLOOR or CEIL: whole doubles, and integers as they are."""

    def form(columns: tuple[Column, ...]) -> pl.Expr | None:
        (only,) = columns
        if only.kind is Kind.BIGINT:
            return only.expression
        return rounded(only.expression) if only.kind is Kind.DOUBLE else None

    return form


def lower(columns: tuple[Column, ...]) -> pl.Expr:
    """Rust and Python differ only on characters younger than Python's Unicode tables."""
    return columns[0].expression.str.to_lowercase()


def upper(columns: tuple[Column, ...]) -> pl.Expr:
    """As `lower`."""
    return columns[0].expression.str.to_uppercase()


def trim(columns: tuple[Column, ...]) -> pl.Expr:
    """Cut blanks only, not every white space."""
    return columns[0].expression.str.strip_chars(" ")


def trim_left(columns: tuple[Column, ...]) -> pl.Expr:
    """As `trim`."""
    return columns[0].expression.str.strip_chars_start(" ")


def trim_right(columns: tuple[Column, ...]) -> pl.Expr:
    """As `trim`."""
    return columns[0].expression.str.strip_chars_end(" ")


def octet_length(columns: tuple[Column, ...]) -> pl.Expr:
    """Polars keeps texts in UTF-8."""
    return columns[0].expression.str.len_bytes().cast(pl.Int64)


def length(columns: tuple[Column, ...]) -> pl.Expr:
    """Count characters, not bytes."""
    return columns[0].expression.str.len_chars().cast(pl.Int64)


def concat(columns: tuple[Column, ...]) -> pl.Expr:
    """NULL if any part is, or the whole would be too long."""
    return computed_once(columns, pl.String(), _joined)


def _joined(columns: tuple[Column, ...]) -> pl.Expr:
    texts = [column.expression for column in columns]
    lengths = (text.str.len_chars().cast(pl.UInt64) for text in texts)
    # A row without its first part is joined no further, so what is too long is never written.
    fits = pl.sum_horizontal(*lengths) <= MAX_COMPUTED_TEXT
    return pl.concat_str([pl.when(fits).then(texts[0]), *texts[1:]], ignore_nulls=False)


def substring(columns: tuple[Column, ...]) -> pl.Expr | None:
    """Only with constant positions from the start, which is how it is nearly always written."""
    text, position, *count = columns
    if position.constant is None or position.constant < 0:
        return None
    start = max(position.constant - 1, 0)
    if not count:
        return text.expression.str.slice(start)
    if count[0].constant is None:
        return None
    return text.expression.str.slice(start, max(count[0].constant, 0))


def starts_with(columns: tuple[Column, ...]) -> pl.Expr:
    """Compare bytes, which in UTF-8 is to compare characters."""
    return columns[0].expression.str.starts_with(columns[1].expression)


def ends_with(columns: tuple[Column, ...]) -> pl.Expr:
    """As `starts_with`."""
    return columns[0].expression.str.ends_with(columns[1].expression)


def contains(columns: tuple[Column, ...]) -> pl.Expr:
    """The part is a text, not a regular expression."""
    return columns[0].expression.str.contains(columns[1].expression, literal=True)


_CALENDAR: dict[str, Callable[[pl.Expr], pl.Expr]] = {
    "DAYOFWEEK": lambda moment: moment.dt.weekday().cast(pl.Int64) % 7 + 1,
    "WEEKDAY": lambda moment: moment.dt.weekday() - 1,
    "DAYOFYEAR": lambda moment: moment.dt.ordinal_day(),
    "WEEKOFYEAR": lambda moment: moment.dt.week(),
    "YEAR": lambda moment: moment.dt.year(),
    "QUARTER": lambda moment: moment.dt.quarter(),
    "MONTH": lambda moment: moment.dt.month(),
    "DAY": lambda moment: moment.dt.day(),
    "HOUR": lambda moment: moment.dt.hour(),
    "MINUTE": lambda moment: moment.dt.minute(),
    "SECOND": lambda moment: moment.dt.second(),
}


def date_part(part: str) -> Callable[[tuple[Column, ...]], pl.Expr]:
    """Return the columnar form of a date part, read in UTC."""
    take = _CALENDAR[part]

    def form(columns: tuple[Column, ...]) -> pl.Expr:
        return take(as_naive(columns[0])).cast(pl.Int64)

    return form


def convert_timezone(columns: tuple[Column, ...]) -> pl.Expr:
    """The zone is a constant; what leads out of the years 1 to 9999 is NULL."""
    zone, moment = columns
    instant = as_naive(moment).dt.replace_time_zone("UTC")
    local = instant.dt.convert_time_zone(zone.constant).dt.replace_time_zone(None)
    return pl.when(local.is_between(_FIRST_MOMENT, _LAST_MOMENT)).then(local)


_TRUNCATION = {
    "YEAR": "1y",
    "QUARTER": "1q",
    "MONTH": "1mo",
    "WEEK": "1w",
    "DAY": "1d",
    "HOUR": "1h",
    "MINUTE": "1m",
    "SECOND": "1s",
    "MILLISECOND": "1ms",
    "MICROSECOND": "1us",
}


def date_trunc(columns: tuple[Column, ...]) -> pl.Expr:
    """The unit is a constant; weeks of polars begin on Monday, too."""
    unit, moment = columns
    cut = as_naive(moment).dt.truncate(_TRUNCATION[unit.constant.upper()])
    return cut.dt.replace_time_zone("UTC") if moment.kind is Kind.TIMESTAMP else cut


def geo_distance(columns: tuple[Column, ...]) -> pl.Expr:
    """Rust and Python ask the same library for sines, so the same steps give the same bits."""
    return computed_once(columns, pl.Float64(), _haversine)


def _haversine(columns: tuple[Column, ...]) -> pl.Expr:
    degrees = [as_double(column) for column in columns]
    one, x, other, y = (each.radians() for each in degrees)
    up, along = ((other - one) / 2).sin(), ((y - x) / 2).sin()
    half = up * up + one.cos() * other.cos() * (along * along)
    distance = 2 * EARTH_RADIUS * half.clip(upper_bound=1.0).sqrt().arcsin()
    are_finite = pl.all_horizontal(each.is_finite() for each in degrees)
    are_between_poles = (degrees[0].abs() <= MAX_LATITUDE) & (degrees[2].abs() <= MAX_LATITUDE)
    return pl.when(are_finite & are_between_poles).then(distance)


def bits(
    operation: Callable[[pl.Expr, pl.Expr], pl.Expr],
) -> Callable[[tuple[Column, ...]], pl.Expr]:
    """Return the form of an operator on the bits of two integers."""
    return lambda columns: operation(columns[0].expression, columns[1].expression)


def greatest(columns: tuple[Column, ...]) -> pl.Expr | None:
    """Values of one kind, which polars orders as SQL does; decimals may differ in scale."""
    return _extreme(columns, operator.gt)


def least(columns: tuple[Column, ...]) -> pl.Expr | None:
    """As `greatest`."""
    return _extreme(columns, operator.lt)


def _extreme(
    columns: tuple[Column, ...], is_before: Callable[[pl.Expr, pl.Expr], pl.Expr]
) -> pl.Expr | None:
    kinds = {column.kind for column in columns}
    if len(kinds) > 1 or Kind.DECIMAL in kinds or Kind.NULL in kinds:
        return None

    def better(columns: tuple[Column, ...]) -> pl.Expr:
        found, each = (column.expression for column in columns)
        return pl.when(found.is_null() | is_before(each, found)).then(each).otherwise(found)

    best, *others = columns
    target = to_polars(best.data_type)
    for other in others:
        best = Column(computed_once((best, other), target, better), best.data_type)
    return best.expression


# Arrays

_COMPARED_BY_POLARS = frozenset({Kind.STRING, Kind.BIGINT})
"""Kinds of elements that are equal to polars exactly if they are to SQL."""


def array(columns: tuple[Column, ...]) -> pl.Expr | None:
    """Elements of one kind."""
    kinds = {column.kind for column in columns} - {Kind.NULL}
    if len(kinds) != 1 or Kind.DECIMAL in kinds:
        return None
    stored = next(to_polars(c.data_type) for c in columns if c.kind is not Kind.NULL)
    return pl.concat_list([column.expression.cast(stored) for column in columns])


def size(columns: tuple[Column, ...]) -> pl.Expr:
    """Count elements, NULL among them."""
    return columns[0].expression.list.len().cast(pl.Int64)


def get(columns: tuple[Column, ...]) -> pl.Expr:
    """Count from 0; the end is never counted from."""
    return _elements_at(columns, lambda index, _length: index)


def element_at(columns: tuple[Column, ...]) -> pl.Expr:
    """Count from 1, or from the end; there is nothing at 0."""

    def index(position: pl.Expr, length: pl.Expr) -> pl.Expr:
        from_end = pl.when(position < 0).then(position + length)
        return pl.when(position > 0).then(position - 1).otherwise(from_end)

    return _elements_at(columns, index)


def _elements_at(
    columns: tuple[Column, ...], index_of: Callable[[pl.Expr, pl.Expr], pl.Expr]
) -> pl.Expr:
    inner = columns[0].data_type.element or OTHER
    computed = inner.computed

    def form(columns: tuple[Column, ...]) -> pl.Expr:
        array, place = (column.expression for column in columns)
        length = array.list.len().cast(pl.Int64)
        index = index_of(place, length)
        known = pl.when(index.is_between(0, length - 1)).then(index)
        found = array.list.get(known, null_on_oob=True)
        return found if computed == inner else found.cast(to_polars(computed))

    return computed_once(columns, to_polars(computed), form)


def array_contains(columns: tuple[Column, ...]) -> pl.Expr | None:
    """Only of texts and integers; NULL in the array is unknown."""
    array, item = columns
    stored = _compared(array)
    if stored is None or item.kind is not (array.data_type.element or OTHER).computed.kind:
        return None
    if item.constant is not None:
        equal = pl.element() == pl.lit(item.constant)
        return array.expression.cast(stored).list.agg(equal.any(ignore_nulls=False))

    def form(columns: tuple[Column, ...]) -> pl.Expr:
        elements = columns[0].expression.cast(stored)
        item = columns[1].expression
        found = elements.list.contains(item, nulls_equal=False)
        is_unknown = item.is_null() | (~found & _has_null(elements))
        return pl.when(~is_unknown).then(found)

    return computed_once(columns, pl.Boolean(), form)


def arrays_overlap(columns: tuple[Column, ...]) -> pl.Expr | None:
    """Only of texts and integers; NULL in one of them is unknown, unless the other is empty."""
    stored, other = map(_compared, columns)
    if stored is None or stored != other:
        return None

    def form(columns: tuple[Column, ...]) -> pl.Expr:
        one, other = (column.expression.cast(stored) for column in columns)
        both = one.list.set_intersection(other)
        found = both.list.eval(pl.element().is_not_null()).list.any()
        are_filled = (one.list.len() > 0) & (other.list.len() > 0)
        is_unknown = ~found & are_filled & (_has_null(one) | _has_null(other))
        return pl.when(~is_unknown).then(found)

    return computed_once(columns, pl.Boolean(), form)


def _compared(array: Column) -> pl.DataType | None:
    """Return the type in which the elements of an array are compared, if polars can."""
    element = (array.data_type.element or OTHER).computed
    return pl.List(to_polars(element)) if element.kind in _COMPARED_BY_POLARS else None


def _has_null(array: pl.Expr) -> pl.Expr:
    return array.list.eval(pl.element().is_null()).list.any()

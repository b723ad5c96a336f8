"""Values over spans of rows: what a window function makes of them.

    values of the counted rows + spans ──aggregated──► one value per row

Sums are those of exact numbers, rounded once: they do not depend on where a batch ended, and do not
drift as rows leave a frame.
"""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate
from math import ceil, floor, isfinite, isinf, isnan, sqrt
from typing import Any

import numpy as np

from cep.compiling import Ints
from cep.expression import EvaluationError
from cep.expression.functions.arithmetic import divide
from cep.expression.temporal import naive_utc
from cep.expression.tree import Window, WindowFunction
from cep.expression.values import (
    EXACT,
    Group,
    Value,
    bigint,
    bounded,
    group_of,
    to_double,
    type_name,
)
from cep.windows.frames import Span


def aggregated(window: Window, spans: Sequence[Span], values: Sequence[Any]) -> list[Value]:
    """Return the value of a window for each row; `None` is NULL.

    Args:
        window: the function, and its share if it is a percentile.
        spans: of each row, in `values`.
        values: of the rows that count, which are not NULL; tuples where it counts distinct ones.

    Raises:
        EvaluationError: the function cannot be computed of such values.
    """
    sizes = np.sum([end - begin for begin, end in spans], axis=0)
    match window.function:
        case WindowFunction.COUNT if not window.is_distinct:
            return list(sizes.tolist())
        case WindowFunction.COUNT:
            return list(_distinct_counts(spans, [tuple(map(place, row)) for row in values]))
        case WindowFunction.MIN | WindowFunction.MAX:
            number = 0 if window.function is WindowFunction.MIN else -1
            return _of_sorted(spans, values, lambda ordered: ordered[number])
        case WindowFunction.PERCENTILE_DISC:
            share = Fraction(window.share or 0)
            return _of_sorted(
                spans, values, lambda ordered: ordered[max(0, ceil(share * len(ordered)) - 1)]
            )
        case WindowFunction.PERCENTILE_CONT:
            numbers = list(map(to_double, _numbers(window, values)))
            share = Fraction(window.share or 0)
            return _of_sorted(spans, numbers, lambda ordered: _between(ordered, share))
        case _:
            return _of_sums(window, spans, sizes.tolist(), _numbers(window, values))


def place(value: Value) -> tuple[Group, bool, Any]:
    """Return what two values have in common if they are equal, and what orders different ones.

    Raises:
        EvaluationError: it is a list or another value without an order.
    """
    group = group_of(value)
    if group >= Group.ARRAY:
        raise EvaluationError(f"a window cannot tell apart values of type {type_name(value)}")
    if group is Group.MOMENT:
        return group, False, naive_utc(value)
    if group is Group.NUMBER and value != value:  # noqa: PLR0124 - only NaN differs from itself
        return group, True, 0
    return group, False, value


def _numbers(window: Window, values: Sequence[Value]) -> Sequence[Value]:
    wrong = next((value for value in values if group_of(value) is not Group.NUMBER), None)
    if wrong is not None:
        raise EvaluationError(f"{window.function} needs a number, not {type_name(wrong)} {wrong!r}")
    return values


# --- sliding along


def _slide(
    spans: Sequence[Span], add: Callable[[int], None], remove: Callable[[int], None]
) -> Iterator[None]:
    """Add and remove places, so that row by row those of its spans are in."""
    at = [[0, 0] for _ in spans]
    bounds = [(begin.tolist(), end.tolist()) for begin, end in spans]
    for row in range(len(spans[0][0])):
        for current, (begins, ends) in zip(at, bounds, strict=True):
            begin, end = begins[row], ends[row]
            for number in range(max(current[1], begin), end):
                add(number)
            for number in range(current[0], min(current[1], begin)):
                remove(number)
            current[0], current[1] = begin, max(current[1], end, begin)
        yield


def _distinct_counts(spans: Sequence[Span], values: Sequence[Any]) -> Iterator[int]:
    inside = Counter[Any]()

    def add(number: int) -> None:
        inside[values[number]] += 1

    def remove(number: int) -> None:
        value = values[number]
        inside[value] -= 1
        if not inside[value]:
            del inside[value]

    for _ in _slide(spans, add, remove):
        yield len(inside)


def _of_sorted(
    spans: Sequence[Span], values: Sequence[Value], pick: Callable[[Sequence[Value]], Value]
) -> list[Value]:
    """Return what is picked of the values in order; NULL where there is none."""
    places = [place(value) for value in values]
    if len({group for group, _, _ in places}) > 1:
        raise EvaluationError("a window cannot order values of different types")
    by_place = dict(zip(reversed(places), reversed(values), strict=True))
    ordered = sorted(by_place)
    ranks = {at: rank for rank, at in enumerate(ordered)}
    of_value = [ranks[at] for at in places]
    distinct = [by_place[at] for at in ordered]
    inside: list[int] = []

    def remove(number: int) -> None:
        del inside[bisect_left(inside, of_value[number])]

    return [
        pick(_Ordered(distinct, inside)) if inside else None
        for _ in _slide(spans, lambda number: insort(inside, of_value[number]), remove)
    ]


class _Ordered(Sequence[Value]):
    """Values by their ranks."""

    def __init__(self, distinct: Sequence[Value], ranks: Sequence[int]) -> None:
        self._distinct = distinct
        self._ranks = ranks

    def __len__(self) -> int:
        return len(self._ranks)

    def __getitem__(self, index: Any) -> Any:
        return self._distinct[self._ranks[index]]


def _between(ordered: Sequence[float], share: Fraction) -> float:
    """Return the value at a share of the way from the first to the last, linear between two."""
    at = share * (len(ordered) - 1)
    low = floor(at)
    value = ordered[low]
    if at == low or ordered[low + 1] == value:
        return value
    return value + (ordered[low + 1] - value) * float(at - low)


# --- sums


def _is_binary(number: Value) -> bool:
    return isinstance(number, float) or (isinstance(number, Decimal) and not number.is_finite())


def _of_sums(
    window: Window, spans: Sequence[Span], sizes: Sequence[int], values: Sequence[Value]
) -> list[Value]:
    """Return sums, averages or deviations, NULL where there is no value."""
    is_double = any(map(_is_binary, values))
    if is_double:
        values = list(map(to_double, values))
    odd = [value if is_double and not isfinite(value) else None for value in values]
    numbers = [0 if wrong is not None else value for wrong, value in zip(odd, values, strict=True)]
    scale, whole = _as_whole(numbers)
    is_decimal = any(isinstance(value, Decimal) for value in values)
    has_squares = window.function in {WindowFunction.STDDEV_SAMP, WindowFunction.STDDEV_POP}
    totals = _totals(spans, whole)
    squares = _totals(spans, [number * number for number in whole]) if has_squares else totals
    odd_ones = [_totals(spans, [int(each) for each in map(kind, odd)]) for kind in _ODD]
    found: list[Value] = []
    for row, size in enumerate(sizes):
        nan, above, below = (of_kind[row] for of_kind in odd_ones)
        if not size:
            found.append(None)
        elif has_squares:
            is_odd = bool(nan or above or below)
            found.append(_deviation(window, size, totals[row], squares[row], scale, is_odd=is_odd))
        elif nan or (above and below):
            found.append(float("nan"))
        elif above or below:
            found.append(float("inf" if above else "-inf"))
        elif is_double:
            count = size if window.function is WindowFunction.AVG else 1
            found.append(to_double(Fraction(totals[row], scale * count)))
        elif is_decimal:
            total = EXACT.divide(Decimal(totals[row]), Decimal(scale))
            is_sum = window.function is WindowFunction.SUM
            found.append(bounded(total) if is_sum else divide(total, size))
        elif window.function is WindowFunction.SUM:
            found.append(bigint(totals[row]))
        else:  # round once; two conversions to double could round twice
            found.append(to_double(Fraction(totals[row], size)))
    return found


_ODD: tuple[Callable[[float | None], bool], ...] = (
    lambda value: value is not None and isnan(value),
    lambda value: value is not None and isinf(value) and value > 0,
    lambda value: value is not None and isinf(value) and value < 0,
)
"""NaN, and infinity above and below: a sum with one of them is no number."""


def _as_whole(numbers: Sequence[Value]) -> tuple[int, list[int]]:
    """Return finite numbers as whole ones, and how many times they are too large."""
    if all(type(number) is int for number in numbers):
        return 1, list(numbers)
    ratios = [number.as_integer_ratio() for number in numbers]
    # Denominators of doubles are powers of two; those of decimals divide a power of ten.
    is_decimal = any(isinstance(number, Decimal) for number in numbers)
    scale = max((below for _, below in ratios), default=1)
    if is_decimal:
        exponents = [number.as_tuple().exponent for number in numbers if type(number) is Decimal]
        scale = 10 ** max(0, *(-int(exponent) for exponent in exponents))
    return scale, [above * (scale // below) for above, below in ratios]


def _totals(spans: Sequence[Span], whole: Sequence[int]) -> list[int]:
    """Return the sum over the spans of each row."""
    sums = list(accumulate(whole, initial=0))
    of_spans = [_differences(sums, begin, end) for begin, end in spans]
    return (
        of_spans[0] if len(of_spans) == 1 else [sum(parts) for parts in zip(*of_spans, strict=True)]
    )


def _differences(sums: Sequence[int], begin: Ints, end: Ints) -> list[int]:
    return [
        sums[after] - sums[first] for first, after in zip(begin.tolist(), end.tolist(), strict=True)
    ]


def _deviation(  # noqa: PLR0913 - what a deviation is made of
    window: Window, size: int, total: int, squares: int, scale: int, *, is_odd: bool
) -> float | None:
    is_sample = window.function is WindowFunction.STDDEV_SAMP
    if is_sample and size == 1:
        return None
    if is_odd:
        return float("nan")
    variance = Fraction(size * squares - total * total, size * (size - is_sample) * scale * scale)
    return sqrt(to_double(variance))

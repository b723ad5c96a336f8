"""Values over spans of rows: what a window function makes of them.

    values of the counted rows + spans ──aggregated──► one value per row

Sums are those of exact numbers, rounded once: they do not depend on where a batch ended, and do not
drift as rows leave a frame.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import accumulate
from math import ceil, floor, isfinite, isnan, sqrt
from typing import Any, Final

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
            return _extremes(spans, values, of_max=window.function is WindowFunction.MAX)
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
    distinct, ranks = _ranked(values)
    inside = _Ordered(distinct)

    def add(number: int) -> None:
        inside.change(ranks[number], 1)

    def remove(number: int) -> None:
        inside.change(ranks[number], -1)

    return [pick(inside) if len(inside) else None for _ in _slide(spans, add, remove)]


def _ranked(values: Sequence[Value]) -> tuple[list[Value], list[int]]:
    """Return the different values in order, and of each value its place there."""
    places = [place(value) for value in values]
    if len({group for group, _, _ in places}) > 1:
        raise EvaluationError("a window cannot order values of different types")
    by_place = dict(zip(reversed(places), reversed(values), strict=True))
    ordered = sorted(by_place)
    ranks = {at: rank for rank, at in enumerate(ordered)}
    return [by_place[at] for at in ordered], [ranks[at] for at in places]


class _Ordered(Sequence[Value]):
    """Values in order, of which each has come some number of times, none to begin with.

    Source: Peter M. Fenwick, "A new data structure for cumulative frequency tables" (1994).
    """

    def __init__(self, distinct: Sequence[Value]) -> None:
        self._distinct = distinct
        self._sums = [0] * (len(distinct) + 1)
        self._size = 0

    def change(self, rank: int, by: int) -> None:
        """Let the value of a rank be there more often, or less."""
        self._size += by
        node = rank + 1
        while node < len(self._sums):
            self._sums[node] += by
            node += node & -node

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, index: Any) -> Any:
        rank, before = 0, index
        step = 1 << len(self._distinct).bit_length()
        while step := step >> 1:
            node = rank + step
            if node < len(self._sums) and self._sums[node] <= before:
                rank, before = node, before - self._sums[node]
        return self._distinct[rank]


def _extremes(spans: Sequence[Span], values: Sequence[Value], *, of_max: bool) -> list[Value]:
    """Return the smallest or greatest value of each row; NULL where there is none."""
    distinct, of_values = _ranked(values)
    distinct = distinct[::-1] if of_max else distinct
    ranks = np.array(of_values, np.int64)
    ranks = len(distinct) - 1 - ranks if of_max else ranks
    least = np.min([_least(span, ranks, nothing=len(distinct)) for span in spans], axis=0)
    return [*map([*distinct, None].__getitem__, least.tolist())]


def _least(span: Span, numbers: Ints, nothing: int) -> Ints:
    """Return the smallest number in the span of each row, `nothing` if it is empty.

    A span is two that may overlap, of the largest power of two that fits: a sparse table.
    """
    begin, end = span
    sizes = end - begin
    found = np.full(len(sizes), nothing, np.int64)
    least, size = numbers, 1  # from each place on, of so many numbers
    while size <= sizes.max(initial=0):
        rows = np.flatnonzero((size <= sizes) & (sizes < 2 * size))
        found[rows] = np.minimum(least[begin[rows]], least[end[rows] - size])
        least = np.minimum(least[:-size], least[size:])
        size *= 2
    return found


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
    odd = {place: value for place, value in enumerate(values) if is_double and not isfinite(value)}
    numbers = [0 if place in odd else value for place, value in enumerate(values)]
    scale, whole = _as_whole(numbers)
    totals = _totals(spans, whole)
    if window.function in {WindowFunction.STDDEV_SAMP, WindowFunction.STDDEV_POP}:
        squares = _totals(spans, [number * number for number in whole])
        lost = int(window.function is WindowFunction.STDDEV_SAMP)
        deviation = partial(_deviation, scale, lost)
        found = list(map(deviation, sizes, totals, squares))
    else:
        is_decimal = any(isinstance(value, Decimal) for value in values)
        kind = "double" if is_double else "decimal" if is_decimal else "whole"
        finish = _FINISHES[window.function, kind]
        pairs = zip(totals, sizes, strict=True)
        found = [finish(total, scale, size) if size else None for total, size in pairs]
    return _with_odd(window, found, spans, odd, len(values)) if odd else found


def _quotient(above: int, below: int) -> float:
    """Return a quotient rounded once; two conversions to double could round twice."""
    try:
        return above / below
    except OverflowError:
        return float("inf") if above > 0 else float("-inf")


_FINISHES: Final[Mapping[tuple[WindowFunction, str], Callable[[int, int, int], Value]]] = {
    (WindowFunction.SUM, "whole"): lambda total, _scale, _size: bigint(total),
    (WindowFunction.SUM, "double"): lambda total, scale, _size: _quotient(total, scale),
    (WindowFunction.SUM, "decimal"): lambda total, scale, _size: bounded(_decimal(total, scale)),
    (WindowFunction.AVG, "whole"): lambda total, _scale, size: _quotient(total, size),
    (WindowFunction.AVG, "double"): lambda total, scale, size: _quotient(total, scale * size),
    (WindowFunction.AVG, "decimal"): lambda total, scale, size: divide(
        _decimal(total, scale), size
    ),
}
"""What makes of a total, how many times it is too large, and the number of values a result."""


def _decimal(total: int, scale: int) -> Decimal:
    return EXACT.divide(Decimal(total), Decimal(scale))


def _with_odd(
    window: Window,
    found: Sequence[Value],
    spans: Sequence[Span],
    odd: Mapping[int, float],
    count: int,
) -> list[Value]:
    """Return results for what holds NaN or infinity, of which sums are no numbers."""
    kinds: list[Callable[[float], bool]] = [isnan, lambda v: v > 0, lambda v: v < 0]
    flags = [[int(n in odd and is_kind(odd[n])) for n in range(count)] for is_kind in kinds]
    counts = zip(found, *(_totals(spans, of_kind) for of_kind in flags), strict=True)
    is_deviation = window.function not in {WindowFunction.SUM, WindowFunction.AVG}
    results: list[Value] = []
    for value, nan, above, below in counts:
        if value is None or not (nan or above or below):
            results.append(value)
        elif nan or is_deviation or (above and below):
            results.append(float("nan"))
        else:
            results.append(float("inf" if above else "-inf"))
    return results


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
    largest = max(map(abs, whole), default=0)
    if largest * len(whole) < _LARGEST_TOTAL:
        sums = np.concatenate([[0], np.cumsum(np.array(whole, np.int64))])
        found = np.sum([sums[end] - sums[begin] for begin, end in spans], axis=0)
        return list(found.tolist())
    exact = list(accumulate(whole, initial=0))
    of_spans = [zip(begin.tolist(), end.tolist(), strict=True) for begin, end in spans]
    return [
        sum(exact[end] - exact[begin] for begin, end in of_row)
        for of_row in zip(*of_spans, strict=True)
    ]


_LARGEST_TOTAL: Final = 2**62


def _deviation(scale: int, lost: int, size: int, total: int, squares: int) -> float | None:
    """Return the deviation of so many values, which are `scale` times too large.

    `lost` are the degrees of freedom that a sample loses.
    """
    divisor = size * (size - lost)
    if not divisor:
        return None
    return sqrt(_quotient(size * squares - total * total, divisor * scale * scale))

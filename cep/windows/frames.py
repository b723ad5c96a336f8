"""Which rows a frame takes, for all rows at once.

    Frame + times, partition by partition ──spans_of──► spans of rows

Everything is searched in sorted arrays; both bounds of a span never fall from one row to the next.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cep.compiling import Ints
from cep.expression.tree import Exclusion, Frame, FrameUnit

Span = tuple[Ints, Ints]
"""Where the span of each row begins, and the row behind it."""


def spans_of(
    frame: Frame, partitions: Ints, times_ms: Ints, passes: NDArray[np.bool_]
) -> Sequence[Span]:
    """Return the rows that the frame of each row takes, as spans that have no row in common.

    Args:
        frame: which rows are taken.
        partitions: numbers of the partitions of the rows, ascending.
        times_ms: ascending within a partition.
        passes: which rows pass the filter.
    """
    rows = np.arange(len(times_ms))
    moments, ranks = np.unique(times_ms, return_inverse=True)
    width = len(moments) + 1
    places = partitions * width + ranks

    def row_of(bounds_ms: Ints, side: Literal["left", "right"]) -> Ints:
        """Return the first row that is not before a time ("right": that is after it)."""
        bounds = partitions * width + np.searchsorted(moments, bounds_ms, side)
        return np.searchsorted(places, bounds)

    first = np.searchsorted(places, partitions * width)
    match frame.unit:
        case FrameUnit.RANGE:
            begin, end = first, rows + 1
            if frame.begin is not None:
                begin = row_of(times_ms - frame.begin, _side(excludes=frame.is_begin_exclusive))
            if frame.end is not None:
                end = row_of(times_ms - frame.end, _side(excludes=not frame.is_end_exclusive))
            elif frame.has_peers:
                end = np.searchsorted(places, places, "right")
        case FrameUnit.ROWS:
            begin = first if frame.begin is None else np.maximum(first, rows - frame.begin)
            end = rows + 1 - (frame.end or 0)
        case FrameUnit.FILTERED_ROWS:
            begin, end = _filtered(frame, first, passes), rows + 1
    return _without(frame.exclusion, (begin, np.maximum(begin, end)), places)


def _without(exclusion: Exclusion, span: Span, places: Ints) -> Sequence[Span]:
    """Return a span of each row without what is excluded; rows of equal places are peers."""
    if exclusion is Exclusion.NOTHING:
        return [span]
    begin, end = span
    rows = np.arange(len(places))
    out_begin, out_end = rows, rows + 1
    if exclusion is not Exclusion.CURRENT_ROW:
        out_begin, out_end = (np.searchsorted(places, places, side) for side in ("left", "right"))
    before = begin, np.maximum(begin, np.minimum(end, out_begin))
    behind = np.minimum(np.maximum(begin, out_end), end), end
    if exclusion is not Exclusion.TIES:
        return [before, behind]
    itself = rows, rows + ((begin <= rows) & (rows < end))
    return [before, itself, behind]


def _side(*, excludes: bool) -> Literal["left", "right"]:
    return "right" if excludes else "left"


def _filtered(frame: Frame, first: Ints, passes: NDArray[np.bool_]) -> Ints:
    """Return the first of the last rows that pass the filter; without the row if it is left out."""
    if frame.begin is None:
        return first
    passed = np.concatenate([[0], np.cumsum(passes)])
    counts_itself = frame.exclusion is Exclusion.NOTHING
    rows = np.arange(len(passes))
    wanted = np.maximum(passed[first], passed[rows + counts_itself] - frame.begin - 1)
    begins = np.append(np.flatnonzero(passes), len(passes))[wanted]
    found: Ints = np.minimum(begins, rows + 1)
    return found

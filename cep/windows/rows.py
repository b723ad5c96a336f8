"""What windows see of events: time, key, and the values of what they read; and which must be kept.

events ──WindowRows──► value of a window for each row · rows that later events may still count
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cep.compiling import Ints
from cep.expression import Node
from cep.expression.tree import FrameUnit, Window, WindowFunction
from cep.expression.values import Group, Value
from cep.windows.aggregation import aggregated, place
from cep.windows.frames import spans_of

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class WindowRows:
    """Some events, those of each key in order of time.

    Args:
        times_ms: their times.
        keys: the number of the key of each; windows of different keys have nothing in common.
        values: of each expression that a window reads, its value for each event.
    """

    times_ms: Ints
    keys: Ints
    values: Mapping[Node, Sequence[Value]]

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.times_ms)

    @classmethod
    def empty(cls, nodes: Sequence[Node]) -> "WindowRows":
        """Return no events."""
        none = np.empty(0, np.int64)
        return cls(none, none, {node: [] for node in nodes})

    @classmethod
    def unread(cls, times_ms: Ints) -> "WindowRows":
        """Return events of one key of which nothing but their times is known."""
        return cls(times_ms, np.zeros(len(times_ms), np.int64), {})

    @classmethod
    def all_of(cls, parts: Sequence["WindowRows"]) -> "WindowRows":
        """Return the events of parts, one after the other; what a part does not have is NULL."""
        values = {
            node: [
                value
                for part in parts
                for value in part.values.get(node) or itertools.repeat(None, len(part))
            ]
            for node in dict.fromkeys(node for part in parts for node in part.values)
        }
        times_ms = np.concatenate([part.times_ms for part in parts])
        return cls(times_ms, np.concatenate([part.keys for part in parts]), values)

    def reading(self, nodes: Iterable[Node]) -> "WindowRows":
        """Return the events with the values of some expressions alone."""
        return replace(self, values={n: self.values[n] for n in nodes if n in self.values})

    def where(self, chosen: Flags) -> "WindowRows":
        """Return some of the events."""
        places = np.flatnonzero(chosen)
        some = places.tolist()
        values = {node: [of[place] for place in some] for node, of in self.values.items()}
        return WindowRows(self.times_ms[places], self.keys[places], values)


def parts_of(window: Window) -> tuple[Node, ...]:
    """Return the expressions that a window reads of each event."""
    condition = () if window.condition is None else (window.condition,)
    return (*window.partition_by, *condition, *window.operands)


def window_values(window: Window, rows: WindowRows, since_ms: int | None = None) -> list[Value]:
    """Return the value of a window for each event; NULL before `since_ms`, from where on it counts.

    Raises:
        EvaluationError: it cannot be computed of these values.
    """
    if since_ms is not None and (rows.times_ms < since_ms).any():
        counts = rows.times_ms >= since_ms
        found = iter(window_values(window, rows.where(counts)))
        return [next(found) if does_count else None for does_count in counts.tolist()]
    if not len(rows):
        return []
    partitions = _partitions(window, rows)
    order = np.argsort(partitions, kind="stable")
    passes = _passes(window, rows)
    spans = spans_of(window.frame, partitions[order], rows.times_ms[order], passes[order])
    counted = _counted(window, rows, passes)[order]
    before = np.concatenate([[0], np.cumsum(counted)])
    counted_rows = order[counted].tolist()
    of_spans = [(before[begin], before[end]) for begin, end in spans]
    values = aggregated(window, of_spans, _operands(window, rows, counted_rows))
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return [values[place] for place in places.tolist()]


def still_needed(window: Window, rows: WindowRows, until_ms: int) -> Flags:
    """Return which events a window may count at an event after `until_ms`."""
    frame = window.frame
    passes = _passes(window, rows)
    if frame.unit is FrameUnit.RANGE:
        needed = _counted(window, rows, passes)
        if frame.begin is not None:
            oldest_ms = until_ms + 1 - frame.begin + frame.is_begin_exclusive
            needed &= rows.times_ms >= oldest_ms
        is_extreme = window.function in {WindowFunction.MIN, WindowFunction.MAX}
        if is_extreme and frame.end is None:
            needed &= _not_outdone(window, rows, needed)
        return needed
    is_counted = passes if frame.unit is FrameUnit.FILTERED_ROWS else np.ones(len(rows), np.bool_)
    if frame.begin is None:
        return is_counted
    # The event that comes is one row of the frame itself, unless it is left out beforehand.
    count = frame.begin
    if frame.unit is FrameUnit.FILTERED_ROWS:
        count += 1
    behind = _rows_behind(_partitions(window, rows), is_counted)
    return np.asarray(is_counted & (behind < count), np.bool_)


def deadline_ms(window: Window, newest_ms: int) -> int | None:
    """Return the time at which no event up to `newest_ms` counts any more, if there is one."""
    frame = window.frame
    if frame.unit is not FrameUnit.RANGE or frame.begin is None:
        return None
    return newest_ms + frame.begin


def _not_outdone(window: Window, rows: WindowRows, counted: Flags) -> Flags:
    """Return the rows behind which no counted one of their partition is as small, or as great.

    Where a row of a frame is outdone, so is it in every frame that comes: what is left is the
    monotone queue of such windows.
    """
    partitions, values = _partitions(window, rows).tolist(), rows.values[window.operands[0]]
    best: dict[int, tuple[Group, bool, Any]] = {}
    found = np.zeros(len(rows), np.bool_)
    for row in reversed(np.flatnonzero(counted).tolist()):
        at, later = place(values[row]), best.get(partitions[row])
        is_less = later is not None and at < later
        if later is None or (at != later and is_less == (window.function is WindowFunction.MIN)):
            found[row], best[partitions[row]] = True, at
    return found


def _rows_behind(partitions: Ints, counted: Flags) -> Ints:
    """Return how many counted rows of its partition come after each row."""
    order = np.argsort(partitions, kind="stable")
    sorted_partitions = partitions[order]
    upto = np.cumsum(counted[order])
    last = np.searchsorted(sorted_partitions, sorted_partitions, "right") - 1
    behind = np.empty(len(order), np.int64)
    behind[order] = upto[last] - upto
    return behind


def _partitions(window: Window, rows: WindowRows) -> Ints:
    """Return the number of the partition of each row; NULL is a value like others."""
    if not window.partition_by:
        return rows.keys
    columns = [
        [None if value is None else place(value) for value in rows.values[node]]
        for node in window.partition_by
    ]
    numbers: dict[tuple[object, ...], int] = {}
    found = [
        numbers.setdefault(each, len(numbers))
        for each in zip(rows.keys.tolist(), *columns, strict=True)
    ]
    return np.array(found, np.int64)


def _passes(window: Window, rows: WindowRows) -> Flags:
    if window.condition is None:
        return np.ones(len(rows), np.bool_)
    outcomes = rows.values[window.condition]
    return np.fromiter((outcome is True for outcome in outcomes), np.bool_, len(rows))


def _counted(window: Window, rows: WindowRows, passes: Flags) -> Flags:
    """Return which rows pass the filter and have no NULL."""
    counted = passes.copy()
    for node in window.operands:
        values = rows.values[node]
        counted &= np.fromiter((value is not None for value in values), np.bool_, len(rows))
    return counted


def _operands(window: Window, rows: WindowRows, chosen: Sequence[int]) -> Sequence[object]:
    """Return the operands of some rows: values, or tuples where different ones are counted."""
    if window.is_distinct:
        columns = [rows.values[node] for node in window.operands]
        return [tuple(column[row] for column in columns) for row in chosen]
    if not window.operands:
        return chosen
    column = rows.values[window.operands[0]]
    return [column[row] for row in chosen]

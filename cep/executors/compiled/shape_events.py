"""Which of many events concern a shape, key by key.

    EventColumns, kinds that concern the shape ──ShapeEvents──► KeyEvents · places of keys

What is done once for all shapes takes as long as there are events; what is done for each, as long
as it has events, unless most are its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from cep.compiling import Ints, in_one_piece
from cep.keyed.event_columns import EventColumns
from cep.keyed.shapes import EventKind
from cep.nfa_kernel.arrays import KeyEvents
from cep.nfa_kernel.event_filter import of_kinds

NumberedKinds = Sequence[tuple[int, int]]
"""Kinds of events by their places in `EventColumns.kinds`, with the numbers a machine gives them;
none is 0."""

_MOST_PICKED: Final = 32
"""To pick events one by one takes about so many times as long as to look at them in a row."""


@dataclass(frozen=True, slots=True)
class ShapeInput:
    """The events that concern a shape, and which of the keys of the call they have."""

    events: KeyEvents
    keys: Ints


class ShapeEvents:
    """The events of a call, for one shape after the other.

    Args:
        events: the events.
    """

    def __init__(self, events: EventColumns[EventKind]) -> None:
        self._events = events
        self._counts: list[int] = np.bincount(
            events.kind_numbers, minlength=len(events.kinds)
        ).tolist()

    def count(self, kinds: Sequence[int]) -> int:
        """Return how many events are of some kinds, given by their places."""
        return sum(self._counts[kind] for kind in kinds)

    def input_for(self, kinds: NumberedKinds) -> ShapeInput:
        """Return the events of these kinds."""
        count = self.count([kind for kind, _ in kinds])
        is_few = count * _MOST_PICKED < len(self._events)
        return self._picked(kinds) if is_few else self._filtered(kinds, count)

    def _filtered(self, kinds: NumberedKinds, count: int) -> ShapeInput:
        events = self._events
        numbers = np.zeros(len(events.kinds), np.int64)
        for kind, number in kinds:
            numbers[kind] = number
        return ShapeInput(*of_kinds(self._all, numbers, count))

    def _picked(self, kinds: NumberedKinds) -> ShapeInput:
        events = self._events
        by_kind, begin_of_kind = self._by_kind
        spans = [slice(begin_of_kind[kind], begin_of_kind[kind + 1]) for kind, _ in kinds]
        turns = self._ranks[np.concatenate([by_kind[span] for span in spans])]
        sizes = [span.stop - span.start for span in spans]
        numbers = np.repeat(np.array([number for _, number in kinds], np.int64), sizes)
        by_key = np.argsort(turns)
        turns = turns[by_key]
        keys = np.searchsorted(events.key_begin, turns, side="right") - 1
        first = np.flatnonzero(np.diff(keys, prepend=-1))
        begin = np.append(first, len(turns))
        order, times_ms = self._all.order[turns], self._all.times_ms[turns]
        picked = KeyEvents(begin, order, times_ms, numbers[by_key], len(self._events))
        return ShapeInput(picked, keys[first])

    @cached_property
    def _all(self) -> KeyEvents:
        """All events, their times and kinds key by key: one by one, these take longer to fetch."""
        events = self._events
        order = in_one_piece(events.order)
        times_ms, kinds = events.times_ms[order], events.kind_numbers[order]
        return KeyEvents(
            in_one_piece(events.key_begin),
            order,
            in_one_piece(times_ms),
            in_one_piece(kinds),
            len(events),
        )

    @cached_property
    def _by_kind(self) -> tuple[Ints, list[int]]:
        """The places of all events kind by kind, and where those of each kind begin."""
        numbers = self._events.kind_numbers
        if len(self._events.kinds) <= np.iinfo(np.uint16).max:
            numbers = numbers.astype(np.uint16)  # sorted by counting
        begin = np.concatenate([[0], np.cumsum(self._counts, dtype=np.int64)])
        return np.argsort(numbers, kind="stable"), begin.tolist()

    @cached_property
    def _ranks(self) -> Ints:
        """Of each event, its place key by key."""
        ranks = np.empty(len(self._events), np.int64)
        ranks[self._events.order] = np.arange(len(self._events))
        return ranks

"""Many events at once through all shapes of a matcher: compiled code where it can, else one by one.

EventColumns ──► CompiledShapes ──────────────┐
           └───► KeyedMatcher, event by event ┴──in order of time──► detections
"""

import heapq
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Final

import numpy as np

from cep.executors.choice import (
    Choices,
    choices_of,
    compiled_shapes,
    encoded_shapes,
    interpreted_rules,
)
from cep.keyed.event_columns import DetectionsAt, EventColumns, Moment
from cep.keyed.found_columns import FoundBlock, FoundColumns, blocks_of, by_moment
from cep.keyed.matcher import KeyedMatcher
from cep.keyed.shapes import Detection, EventKind

if TYPE_CHECKING:
    from cep.executors.compiled.object_keys import CompiledShapes
    from cep.executors.compiled.stored_keys import EncodedShapes

FEWEST_EVENTS: Final = 64
"""For fewer events, of a call or of a shape in it, arrays cost more than they save."""


class ColumnMatcher:
    """Takes events in columns to a matcher.

    Args:
        matcher: one that closes windows in the order of deadlines.
        compiles: whether compiled code may be used, where the machine has it. What is found is
            the same.
    """

    def __init__(self, matcher: KeyedMatcher, *, compiles: bool = True) -> None:
        self._matcher = matcher
        self._compiles = compiles
        self._compiled: CompiledShapes | None = None
        self._encoded: EncodedShapes | None = None

    @cached_property
    def interpreted_reasons(self) -> dict[str, str]:
        """Why rules run in Python, by rule; those that compiled code can run are left out."""
        return interpreted_rules(self._choices)

    def process(self, events: EventColumns[EventKind]) -> Iterator[list[Detection]]:
        """Process events; yield all that one event has brought, or time as it went to that of one.

        In order of event time; time goes to that of the last event. All must be taken before
        anything else is done with the matcher. Of rules that are stopped in between, the next
        event may still bring something.

        Raises:
            LimitExceeded: a key holds too much, and the matcher has no `on_failure`.
        """
        for found in self.blocks(events):
            if isinstance(found, FoundBlock):
                yield from found.detections()
            else:
                yield found

    def blocks(self, events: EventColumns[EventKind]) -> Iterator[list[Detection] | FoundBlock]:
        """Process events as `process` does; yield what many have brought as one, if it can be."""
        if not len(events):
            return
        compiled = self._compiled_shapes() if len(events) >= FEWEST_EVENTS else None
        if compiled is None:
            yield from self._with_others(events, [])
            return
        try:
            yield from self._with_others(events, compiled.process(events, FEWEST_EVENTS))
        finally:
            compiled.settle()

    def _with_others(
        self, events: EventColumns[EventKind], found: Sequence[FoundColumns]
    ) -> Iterator[list[Detection] | FoundBlock]:
        """Move the shapes that have not moved yet; yield what they and the others have found."""
        others = self._one_by_one(events, {id(one.shape) for one in found})
        first = next(others, None)
        if first is None:
            yield from blocks_of(found)
            return
        parts = (chain([first], others), *(one.iter_detections() for one in found))
        yield from by_moment(heapq.merge(*parts, key=itemgetter(0)))

    def encoded(self, size: int) -> "EncodedShapes | None":
        """Return what takes whole batches to keys that are bytes; `None` if that cannot be done.

        Args:
            size: how many events and keys there are, as it is not worth it for few.
        """
        if self._encoded is None and size >= FEWEST_EVENTS:
            compiled = self._compiled_shapes()
            self._encoded = None if compiled is None else encoded_shapes(self._matcher, compiled)
        return self._encoded if size >= FEWEST_EVENTS else None

    def _compiled_shapes(self) -> "CompiledShapes | None":
        """Return the shapes that compiled code can run; `None` until it is there."""
        if self._compiled is None and self._compiles:
            self._compiled = compiled_shapes(self._matcher, self._choices)
        return self._compiled

    @cached_property
    def _choices(self) -> Choices:
        return choices_of(self._matcher.shapes)

    def _one_by_one(
        self, events: EventColumns[EventKind], without: Collection[int]
    ) -> Iterator[DetectionsAt]:
        """Move the shapes that have not moved yet, and close the windows of all other keys."""
        matcher = self._matcher
        kinds = [
            tuple(part for part in kind if id(part[0]) not in without) for kind in events.kinds
        ]
        does_concern = np.array([bool(kind) for kind in kinds])
        places = np.flatnonzero(does_concern[events.kind_numbers])
        times, numbers = events.times_ms[places].tolist(), events.kind_numbers[places].tolist()
        keys = events.key_numbers[places].tolist() if len(places) else []
        rows = events.events_at(places) if len(places) else []
        after: Moment = 0, False
        for place, time_ms, number, key, row in zip(
            places.tolist(), times, numbers, keys, rows, strict=True
        ):
            if closed := matcher.advance_to(time_ms):
                yield from _by_moment(closed, events, after)
            if detections := matcher.process(events.keys[key], kinds[number], row, time_ms):
                yield (place, True), detections
            after = place, True
        yield from _by_moment(matcher.advance_to(int(events.times_ms[-1])), events, after)


def _by_moment(
    closed: list[Detection], events: EventColumns[EventKind], after: Moment
) -> Iterator[DetectionsAt]:
    """Split what windows brought that closed between two events by those that lie between."""
    places = np.searchsorted(events.times_ms, [one.time_ms for one in closed]).tolist()
    for one, place in zip(closed, places, strict=True):
        after = max(after, (place, False))
        yield after, [one]

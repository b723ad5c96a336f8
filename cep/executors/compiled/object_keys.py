"""Many events at once through the shapes that compiled code can run, for keys that are objects.

    EventColumns ──ShapeEvents──► of a shape ──walk_shape──► found, in order of time: FoundColumns

Where compiled code gives up on a shape, the machine in Python takes the events of the call, from
the state it had before them.
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, Final, cast

import numpy as np

from cep.compiling import Ints
from cep.compiling.byte_copying import Bytes
from cep.executors.compiled.shape_events import ShapeEvents, ShapeInput
from cep.executors.compiled.shape_walk import (
    CompiledShape,
    Payloads,
    count_walk,
    in_order,
    transitions_by_shape,
    walk_shape,
)
from cep.keyed.event_columns import EventColumns
from cep.keyed.found_columns import FoundColumns
from cep.keyed.matcher import KeyedMatcher
from cep.keyed.shapes import EventKind, Shape
from cep.nfa.codec import pack_values, runs_payload, unpack_values
from cep.nfa.errors import StateEncodingError
from cep.nfa.runs import KeyRuns
from cep.nfa.written_runs import WrittenRuns
from cep.nfa_kernel.entries.writing import list_of

_BEFORE_ALL_MS: Final = -(2**62)


class CompiledShapes:
    """Takes many events to a matcher at once.

    Args:
        matcher: the matcher, which closes windows in the order of deadlines.
        shapes: those of its shapes that compiled code can run.
    """

    def __init__(self, matcher: KeyedMatcher, shapes: list[CompiledShape]) -> None:
        self._matcher = matcher
        self._shapes = shapes
        self._unsettled: list[tuple[Shape, list[Hashable]]] = []

    @property
    def every(self) -> list[CompiledShape] | None:
        """All shapes of the matcher in their order; `None` if it has others."""
        return self._shapes if len(self._shapes) == len(self._matcher.shapes) else None

    def process(self, events: EventColumns[EventKind], fewest_events: int) -> list[FoundColumns]:
        """Move the keys of these shapes by events, to the time of the last; return what was found.

        Once the matcher has come to that time, too, these keys are to be settled (`settle`).
        Shapes that fewer events concern, and those on which compiled code gave up, are left as they
        are, and are not among the results.
        """
        by_shape = transitions_by_shape(events.kinds)
        of_shape = ShapeEvents(events)
        found = []
        for compiled in self._shapes:
            shape, tables = compiled.shape, compiled.tables
            transitions = by_shape.get(id(shape), ())
            if of_shape.count([kind for kind, _ in transitions]) < max(1, fewest_events):
                continue
            tables.make_room(len(transitions))
            kinds = [(kind, tables.number(each)) for kind, each in transitions]
            walked = self._walk(compiled, events, of_shape.input_for(kinds))
            if walked is not None:
                found.append(walked)
        return found

    def settle(self) -> None:
        """See that the next windows of the keys that have moved are waited for.

        Not before: an event may bring a partial match to a step whose window is over at the time of
        that event. It closes once time has moved on.
        """
        for shape, keys in self._unsettled:
            for key in keys:
                if (runs := shape.keys.get(key)) is not None:
                    self._matcher.settle(shape, key, runs)
        self._unsettled.clear()

    def _walk(
        self,
        compiled: CompiledShape,
        events: EventColumns[EventKind],
        concerning: ShapeInput,
    ) -> FoundColumns | None:
        """Move the keys of a shape; `None` if compiled code did not, with nothing changed.

        What keys hold goes into arrays and back, which takes as long as it takes Python to move as
        many partial matches by an event each.
        """
        shape, machine, matcher = compiled.shape, compiled.machine, self._matcher
        until_ms = int(events.times_ms[-1])
        keys = [events.keys[number] for number in concerning.keys]
        states = cast("list[KeyRuns | None]", [shape.keys.get(key) for key in keys])
        if not is_worth_it(len(concerning.events.order), states):
            return None
        try:
            walked = walk_shape(
                compiled,
                events,
                concerning.events,
                _payloads_of(states),
                machine.all_rules,
                matcher.counted_of(shape),
                (_BEFORE_ALL_MS if matcher.time_ms is None else matcher.time_ms, until_ms),
            )
        except StateEncodingError:
            return None  # an event has a value that only the machine in Python can hold
        if walked is None:
            return None
        count_walk(matcher, compiled, walked.counts)
        after = _runs_of(walked.payloads, walked.begins, machine.aggregate_count)
        for key, state, runs in zip(keys, states, after, strict=True):
            if state is not None or not runs.is_idle:
                matcher.replace(shape, key, runs, until_ms)
        self._unsettled.append((shape, keys))
        return in_order(shape, events, (events.keys, concerning.keys), walked.chains, walked.found)


def _payloads_of(states: Sequence[KeyRuns | None]) -> Payloads:
    """Return what keys hold as it is written; `None` is a key that holds nothing.

    Raises:
        StateEncodingError: an event has a value that cannot be written.
    """
    written = [b"" if state is None else pack_values(_payload(state)) for state in states]
    ends = np.cumsum([0, *map(len, written)], dtype=np.int64)
    return Payloads(b"".join(written), np.column_stack([ends[:-1], ends[1:]]))


def _payload(state: KeyRuns) -> list[Any]:
    if isinstance(state, WrittenRuns) and state.payload is not None:
        return state.payload
    return runs_payload(state)


def _runs_of(payloads: Bytes, begins: Ints, aggregate_count: int) -> Iterator[WrittenRuns]:
    """Yield the state of each key from its bytes, of which one that holds nothing has none."""
    spans = np.column_stack([begins[:-1], begins[1:]])
    is_held = begins[1:] > begins[:-1]
    data = np.frombuffer(payloads.tobytes(), np.uint8)  # read only, as all that is compiled for
    held = iter(unpack_values(list_of(data, spans[is_held]).tobytes()))
    for each in is_held.tolist():
        yield WrittenRuns(next(held) if each else [0, True, [], [], [], []], aggregate_count)


def is_worth_it(event_count: int, keys: Iterable[KeyRuns | None]) -> bool:
    """Return whether there are as many events as partial matches of the keys they have."""
    return event_count >= sum(key.run_count() for key in keys if key is not None)

"""Many events at once through the shapes that compiled code can run.

    EventColumns ──ShapeEvents──► of a shape ──cep.nfa_kernel.walk, key by key──► found
    found ──in order of time──► FoundColumns

Where compiled code gives up on a shape, the machine in Python takes the events of the call, from
the state it had before them.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np

from cep.compiling import MOST_BITS, Ints
from cep.expression import EvaluationError
from cep.matching.event_columns import EventColumns
from cep.matching.found_columns import FoundColumns
from cep.matching.keyed import KeyedMatcher
from cep.matching.residual_columns import ResidualColumns
from cep.matching.shape_events import ShapeEvents, ShapeInput
from cep.matching.shapes import EventKind, Shape
from cep.nfa.chains import EventsByNumber
from cep.nfa.machine import Machine
from cep.nfa.runs import KeyRuns
from cep.nfa.step_counts import StepCounts
from cep.nfa.transition_table import EventTransitions
from cep.nfa_kernel import arrays as at
from cep.nfa_kernel import counting
from cep.nfa_kernel.chains import Chains
from cep.nfa_kernel.key_arrays import load_keys, store_keys
from cep.nfa_kernel.residual_code import residual_code
from cep.nfa_kernel.tables import MachineTables
from cep.nfa_kernel.walk import walk
from cep.number_order import stable_order

_BEFORE_ALL_MS: Final = -(2**62)
_LONGEST_WINDOW_MS: Final = 2**60
"""The end of a longer one might not fit 64 bits."""


class CompiledShapes:
    """Takes many events to a matcher at once.

    Args:
        matcher: the matcher, which closes windows in the order of deadlines.
    """

    def __init__(self, matcher: KeyedMatcher) -> None:
        self._matcher = matcher
        self._shapes = list(filter(None, map(compiled_shape, matcher.shapes)))
        self._unsettled: list[tuple[Shape, list[Hashable]]] = []

    @property
    def every(self) -> "list[CompiledShape] | None":
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
        compiled: "CompiledShape",
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
        before = load_keys(states, len(events))
        if before is None:
            return None
        try:
            columns, ranks = compiled.columns.of(events, concerning.events.order, before.events)
        except EvaluationError:
            return None
        tables = compiled.tables.ranked(ranks)
        walked = walk(
            tables,
            concerning.events,
            columns,
            before.arrays,
            machine.stopped,
            matcher.counted_of(shape),
            (_BEFORE_ALL_MS if matcher.time_ms is None else matcher.time_ms, until_ms),
        )
        if walked.status == at.GAVE_UP:
            return None
        count_walk(matcher, compiled, walked.counts)
        known = _KnownEvents(events, before.events)
        after = store_keys(walked.keys, known.lists, known.count, machine.aggregate_count)
        for key, state, runs in zip(keys, states, after, strict=True):
            if state is not None or not runs.is_idle:
                matcher.replace(shape, key, runs, until_ms)
        self._unsettled.append((shape, keys))
        chains = Chains(walked.keys.cells, EventsByNumber(events.frame, known.held_at))
        return in_order(shape, events, (events.keys, concerning.keys), chains, walked.found)


@dataclass(frozen=True, slots=True)
class CompiledShape:
    """A shape that compiled code can run: what its machine does, and what its conditions read."""

    shape: Shape
    machine: Machine
    tables: MachineTables
    columns: ResidualColumns


def compiled_shape(shape: Shape) -> CompiledShape | None:
    """Return a shape with its tables; `None` if compiled code cannot run it."""
    machine = shape.machine
    if not isinstance(machine, Machine) or machine.all_rules.bit_length() > MOST_BITS:
        return None
    states = machine.program.states
    windows_ms = [machine.program.window_ms, *(state.previous_window_ms or 0 for state in states)]
    code = residual_code(machine)
    if code is None or max(windows_ms) > _LONGEST_WINDOW_MS:
        return None
    return CompiledShape(shape, machine, MachineTables(machine, code), ResidualColumns(code))


def count_walk(matcher: KeyedMatcher, compiled: CompiledShape, counts: Ints) -> None:
    """Count what compiled code has counted by rule and step, and timeouts that are counted only."""
    machine, step_count = compiled.machine, compiled.tables.tables.step_count
    rows = np.flatnonzero(counts[:, : counting.KINDS].any(axis=1))
    for row, numbers in zip(rows.tolist(), counts[rows].tolist(), strict=True):
        reached, again, timed_out, broken, pruned, newest_ms = numbers
        taken = reached + again
        found = StepCounts(
            reached, taken, timed_out, broken, pruned, last_event_ms=newest_ms if taken else None
        )
        rule, step = divmod(row, step_count)
        machine.tally.add(rule, step, found)
        if timed_out:
            matcher.count_timeouts(compiled.shape, 1 << rule & ~machine.stopped, timed_out)


@dataclass(frozen=True, slots=True)
class _KnownEvents:
    """The events of a call by number, and after them those that keys have held."""

    events: EventColumns[EventKind]
    held: Sequence[list[Any]]

    @property
    def count(self) -> int:
        return len(self.events) + len(self.held)

    def held_at(self, numbers: Ints) -> list[list[Any]]:
        """Return some of those that keys have held, which begin with 0."""
        return [self.held[number] for number in numbers.tolist()]

    def lists(self, numbers: Ints) -> list[list[Any]]:
        """Return events as lists, as they are written; numbers are in any order."""
        is_new = numbers < len(self.events)
        new = iter(self.events.events_at(numbers[is_new]))
        return [
            self.held[number] if number >= 0 else list(next(new))
            for number in (numbers - len(self.events)).tolist()
        ]


def is_worth_it(event_count: int, keys: Iterable[KeyRuns | None]) -> bool:
    """Return whether there are as many events as partial matches of the keys they have."""
    return event_count >= sum(key.run_count() for key in keys if key is not None)


def transitions_by_shape(
    kinds: Sequence[EventKind],
) -> dict[int, list[tuple[int, EventTransitions]]]:
    """Return by identity of a shape which kinds of events concern it, and what they do."""
    by_shape: defaultdict[int, list[tuple[int, EventTransitions]]] = defaultdict(list)
    for number, kind in enumerate(kinds):
        for shape, transitions in kind:
            by_shape[id(shape)].append((number, cast("EventTransitions", transitions)))
    return by_shape


def in_order(
    shape: Shape,
    events: EventColumns[EventKind],
    keys: tuple[Sequence[Hashable], Ints],
    chains: Chains,
    found: Ints,
) -> FoundColumns:
    """Return what a walk has found in order of time.

    Args:
        shape: whose walk.
        events: of the call.
        keys: some, and which of them the walk has gone through.
        chains: the events behind cells.
        found: what the walk has found.
    """
    all_keys, numbers = keys
    # Events are in order of time; what windows that close have brought is among them by time.
    has_closed = (found[:, at.FOUND_EVENT] == at.NO_EVENT).any()
    of_time = (found[:, at.FOUND_ORDER_MS],) if has_closed else ()
    ordered = found.take(stable_order(*of_time, found[:, at.FOUND_EVENT]), axis=0)
    order_ms = ordered[:, at.FOUND_ORDER_MS]
    is_of_event = ordered[:, at.FOUND_EVENT] != at.NO_EVENT
    places = ordered[:, at.FOUND_EVENT].copy()
    places[~is_of_event] = _places_of_times(events.times_ms, order_ms[~is_of_event])
    return FoundColumns(
        shape,
        all_keys,
        numbers[ordered[:, at.FOUND_KEY]],
        ordered[:, at.FOUND_RULES],
        ordered[:, at.FOUND_CELL],
        ordered[:, at.FOUND_TIME_MS],
        ordered[:, at.FOUND_IS_TIMEOUT] != 0,
        2 * places + is_of_event,
        chains,
    )


def _places_of_times(times_ms: Ints, asked_ms: Ints) -> Ints:
    """Return where among events times are; each after the last event is a place of its own."""
    if not len(times_ms):
        return asked_ms
    after_last: Ints = np.maximum(asked_ms - int(times_ms[-1]) - 1, 0)
    return np.searchsorted(times_ms, asked_ms) + after_last

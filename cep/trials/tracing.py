"""Matches a rule over a few events and keeps every partial match that did not become a match.

    events ─► Tracer ─► matches, and how far the others came and what ended them

The matcher itself drops a partial match that has ended; here the partial matches of each key are
compared after each event with those before. Two that have taken the same events share their last
cell and differ in their state: one may await a further repetition, the other the next step. Each is
followed by itself; where both end in the same way they are reported as one.
"""

import json
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Literal, cast

from cep.expression import EvaluationError, Expression, Schema, compile_predicate, resolve, split
from cep.instants import instant_ms
from cep.keyed.matcher import KeyedMatcher
from cep.keyed.shapes import Detection
from cep.nfa.errors import ConditionFailed
from cep.nfa.machine import Machine
from cep.nfa.program import Program
from cep.nfa.runs import Cell, KeyRuns, Run, accepted_events
from cep.nfa.waiting import deadline_ms, next_steps
from cep.pattern import Pattern
from cep.pattern.tree import AllOf, Condition, SkipKind, Step
from cep.trials.bounds import LIMITS, check_matches
from cep.trials.events import TimedEvent, code_view, column_reader
from cep.trials.held_back import HeldBack
from cep.trials.reports import TriedPartialMatch
from cep.windows.columns import WindowColumns
from cep.windows.running import RunningWindows

Outcome = Literal["timed_out", "forbidden", "broken", "skipped", "open"]
_Ending = tuple[int, Outcome, int | None, int | None]
"""Id of the last cell, outcome, and when and by which event it ended."""

_LATEST_MS: Final = instant_ms("9999-12-30T00:00:00Z")


@dataclass(frozen=True, slots=True)
class EndedPartialMatch:
    """A partial match that has ended or is still open.

    `cell` is the last event it took; `ended_by` is the position of the event that ended it, `None`
    if no event did.
    """

    key: Hashable
    cell: Cell
    outcome: Outcome
    ended_at_ms: int | None
    ended_by: int | None
    awaited: tuple[str, ...]
    forbidden: tuple[str, ...]


@dataclass(slots=True)
class Trace:
    """What was found; `fits` are positions of events by step, matches in order of emission.

    `dropped` matches were complete and held back until another match dropped them.
    """

    fits: dict[str, list[int]]
    step_names: tuple[str, ...]
    matches: list[Detection] = field(default_factory=list)
    partial_matches: list[EndedPartialMatch] = field(default_factory=list)
    dropped: list[EndedPartialMatch] = field(default_factory=list)

    def positions(self, cell: Cell) -> dict[str, list[int]]:
        """Return the positions of the events of a match by step."""
        steps: dict[str, list[int]] = {}
        for taken in accepted_events(cell):
            steps.setdefault(shown_step(self.step_names[taken[1]]), []).append(taken[3].position)
        return steps

    def to_report(self, ended: EndedPartialMatch) -> TriedPartialMatch:
        """Return a partial match as it is reported."""
        return TriedPartialMatch(
            key=json.loads(str(ended.key)),
            steps=self.positions(ended.cell),
            start=accepted_events(ended.cell)[0][3].time_ms,
            outcome=ended.outcome,
            ended_at=ended.ended_at_ms,
            ended_by=ended.ended_by,
            awaited=list(ended.awaited),
            forbidden=list(ended.forbidden),
        )


def last_cell(found: Detection) -> Cell:
    """Return the last event of a match of a pattern of steps, linked to those before."""
    return cast("Cell", found.cell)


@dataclass(slots=True)
class _Moment:
    """The current step of a trace: the time, the current event, and the steps it fits."""

    time_ms: int
    position: int | None
    fitting: frozenset[str]


class Tracer:
    """One pass of a rule over events: a valid pattern, its Python conditions loaded."""

    def __init__(self, pattern: Pattern, schema: Schema | None) -> None:
        self._matcher = KeyedMatcher(
            {"": pattern},
            field_reader=column_reader,
            event_view=code_view(schema),
            schema=schema,
            limits=LIMITS,
            in_deadline_order=True,
        )
        (self._shape,) = self._matcher.shapes
        machine = self._shape.machine
        if not isinstance(machine, Machine):
            raise TypeError("row patterns have a tracer of their own")
        self._program = machine.program
        self._step_names = self._shape.members[0].step_names
        tests = self._matcher.tests.nodes
        self._windows = RunningWindows(tests, column_reader, LIMITS.events)
        self._tests = [compile_predicate(node, column_reader) for node in self._windows.tests]
        self._fits = [_fit_test(step, self._step_names, schema) for step in pattern.tree.steps()]
        self._is_skipping = pattern.tree.after_match_skip.kind is not SkipKind.NO_SKIP
        self._longest_ms = _longest_window_ms(self._program)
        self._trace = Trace({shown_step(name): [] for name in self._step_names}, self._step_names)
        self._open: dict[Hashable, list[Run]] = {}
        # A cell that led to another one or to a match is not a near miss.
        self._ended: dict[_Ending, EndedPartialMatch] = {}
        self._led_on: dict[int, Cell] = {}
        self._held = HeldBack()

    @property
    def window_ms(self) -> int | None:
        """How long a partial match lasts from its first event; `None` = there is no such window."""
        return self._program.window_ms or None

    def trace(
        self,
        events: Iterable[tuple[Hashable, TimedEvent]],
        *,
        until_ms: int | None = None,
        let_time_pass: bool,
    ) -> Trace:
        """Return what the rule finds in events with their keys, in order of time.

        After the last event time advances to `until_ms`, then, with `let_time_pass`, until all
        windows close. Errors are those of `traced_key`.
        """
        keyed = list(events)
        timed = ((event.time_ms, place, event) for place, (_, event) in enumerate(keyed))
        for _, place, event in self._windows.over(timed):
            key, _ = keyed[place]
            event.windows.update(self._windows.current)
            try:
                self._take(key, event)
            except EvaluationError as error:
                raise EvaluationError(f"event {event.position + 1}: {error}") from error
            except ConditionFailed as failure:
                raise failure.at(f"event {event.position + 1}") from failure.__cause__
        if until_ms is not None:
            self._advance_to(until_ms)
        if self._matcher.time_ms is not None and let_time_pass:
            self._advance_to(min(self._matcher.time_ms + self._longest_ms, _LATEST_MS))
        for key, runs in self._keys().items():
            for run in runs.runs:
                self._end(key, run, "open", None)
        self._trace.partial_matches = [
            each for each in self._ended.values() if id(each.cell) not in self._led_on
        ]
        self._trace.dropped = [
            each for each in self._trace.dropped if not self._held.has_given(each.cell)
        ]
        return self._trace

    def _keys(self) -> dict[Hashable, KeyRuns]:
        return cast("dict[Hashable, KeyRuns]", self._shape.keys)

    def _take(self, key: Hashable, event: TimedEvent) -> None:
        self._advance_to(event.time_ms)
        moment = _Moment(event.time_ms, event.position, self._fitting(event))
        true_tests = [number for number, test in enumerate(self._tests) if test(event, ())]
        kind = self._matcher.kind(true_tests)
        self._observe(self._matcher.process(key, kind, event, event.time_ms), moment)

    def _advance_to(self, time_ms: int) -> None:
        self._observe(self._matcher.advance_to(time_ms), _Moment(time_ms, None, frozenset()))

    def _fitting(self, event: TimedEvent) -> frozenset[str]:
        fitting = frozenset(
            shown_step(name)
            for name, fits in zip(self._step_names, self._fits, strict=True)
            if fits(event)
        )
        for name in fitting:
            self._trace.fits[name].append(event.position)
        return fitting

    def _observe(self, detections: list[Detection], moment: _Moment) -> None:
        check_matches(len(self._trace.matches) + len(detections))
        emitting = set()
        given: set[int] = set()
        closed: set[tuple[int, int | None]] = set()
        for detection in detections:
            if detection.is_timeout:
                closed.add((id(detection.cell), detection.time_ms))
            else:
                emitting.add(detection.key)
                self._trace.matches.append(detection)
                given.add(id(detection.cell))
                self._held.give_out(last_cell(detection))
                self._lead_on(last_cell(detection))
        keys = self._keys()
        for key in {**self._open, **keys}:
            runs = keys.get(key)
            before, after = self._open.get(key, []), runs.runs if runs else []
            self._drop(key, runs, given, moment)
            if before is after:
                continue
            self._follow(runs)
            for run in _ended(before, after):
                closes_ms = deadline_ms(self._program, run)
                if closes_ms is not None and (id(run[5]), closes_ms) in closed:
                    closing = _Moment(closes_ms, None, frozenset())
                    self._end(key, run, "timed_out", closing)
                else:
                    skipped = self._is_skipping and key in emitting
                    self._end(key, run, self._outcome(run, moment, skipped=skipped), moment)
            if after:
                self._open[key] = after
            else:
                self._open.pop(key, None)

    def _drop(self, key: Hashable, runs: KeyRuns | None, given: set[int], moment: _Moment) -> None:
        for cell in self._held.see(key, runs, given):
            dropped = EndedPartialMatch(
                key, cell, "skipped", moment.time_ms, moment.position, (), ()
            )
            self._trace.dropped.append(dropped)

    def _follow(self, runs: KeyRuns | None) -> None:
        """Record which partial matches have led to the current ones."""
        if runs is None:
            return
        for run in runs.runs:
            self._lead_on(run[5][0])
        for _, queue in runs.waiting:
            for _, cell in queue:
                self._lead_on(cell)

    def _outcome(self, run: Run, moment: _Moment, *, skipped: bool) -> Outcome:
        if skipped:
            return "skipped"
        _, forbidden = self._waiting_for(run[0])
        return "forbidden" if moment.fitting.intersection(forbidden) else "broken"

    def _end(self, key: Hashable, run: Run, outcome: Outcome, moment: _Moment | None) -> None:
        awaited, forbidden = self._waiting_for(run[0])
        ended_at_ms = None if moment is None else moment.time_ms
        ended_by = None if moment is None else moment.position
        ending = (id(run[5]), outcome, ended_at_ms, ended_by)
        if same := self._ended.get(ending):
            awaited = tuple(dict.fromkeys((*same.awaited, *awaited)))
            forbidden = tuple(dict.fromkeys((*same.forbidden, *forbidden)))
        self._ended[ending] = EndedPartialMatch(
            key, run[5], outcome, ended_at_ms, ended_by, awaited, forbidden
        )

    def _lead_on(self, cell: Cell | None) -> None:
        while cell is not None and id(cell) not in self._led_on:
            self._led_on[id(cell)] = cell
            cell = cell[0]

    def _waiting_for(self, state: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the steps a partial match in a state can take next, and those it forbids."""
        awaited, forbidden = next_steps(self._program, state)
        return self._shown(awaited), self._shown(forbidden)

    def _shown(self, steps: Iterable[int]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(shown_step(self._step_names[step]) for step in steps))


def _ended(before: list[Run], after: list[Run]) -> list[Run]:
    """Return the partial matches that are gone without having become another one of their cell."""
    known = {(id(run[5]), run[0]) for run in before}
    alive = {(id(run[5]), run[0]) for run in after}
    moved = {cell for cell, _ in alive - known}
    return [run for run in before if (id(run[5]), run[0]) not in alive and id(run[5]) not in moved]


def _fit_test(
    step: Step, step_names: tuple[str, ...], schema: Schema | None
) -> Callable[[TimedEvent], bool]:
    """Return the test for the part of a step's condition on the event alone."""
    tests: list[Callable[[TimedEvent], bool]] = []
    if step.subtype is not None:
        name, read_type = step.subtype.name, column_reader((step.subtype.field,))
        tests.append(lambda event: read_type(event) == name)
    for expression in _expressions(step.where):
        part = split(resolve(expression, step_names, schema)).event
        if part is not None:
            part = WindowColumns.of([part]).replaced(part)
            tests.append(partial(_holds_alone, compile_predicate(part, column_reader)))
    return lambda event: all(test(event) for test in tests)


def _expressions(condition: Condition | None) -> Iterator[Expression]:
    """Yield the parts in SQL that must hold; Python may ask for the events taken before."""
    if isinstance(condition, Expression):
        yield condition
    elif isinstance(condition, AllOf):
        for part in condition.conditions:
            yield from _expressions(part)


def _holds_alone(predicate: Callable[[Any, tuple[()]], bool], event: TimedEvent) -> bool:
    return predicate(event, ())


def _longest_window_ms(program: Program) -> int:
    """Return how long after the last event every window is closed."""
    gaps_ms = [state.previous_window_ms or 0 for state in program.states]
    return max(program.window_ms, *gaps_ms)


def shown_step(name: str) -> str:
    """Return the name of a step as matches have it."""
    # With Flink's quirks a name counts up to its first ":" only, as in matches.
    return name.partition(":")[0]

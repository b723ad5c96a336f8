"""Runs one program for many rules at once over the events of a key.

    tests that hold ──► EventTransitions (by state) ──► process(): next runs, finished matches
    time ──► advance(): timeouts, matches of trailing NOTs

Rules of equal shape share the program and, as long as their conditions agree, their partial
matches: a run carries the set of rules it belongs to as bits and splits only where the rules'
conditions differ. One rule is the special case of one bit.

Source: Flink CEP `NFA.process` and `NFA.advanceTime`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from cep.nfa.codec import runs_of_payload, runs_payload
from cep.nfa.decision import NO_EVENT, RunOutcome
from cep.nfa.errors import SkipTargetMissing
from cep.nfa.limits import Limits, check_events, check_held
from cep.nfa.program import Program, StateKind
from cep.nfa.runs import (
    CELL_STEP,
    RUN_CELL,
    RUN_PREVIOUS_MS,
    RUN_RULES,
    RUN_START,
    RUN_START_MS,
    RUN_STATE,
    UNFOLDED,
    Cell,
    KeyRuns,
    Run,
)
from cep.nfa.skip import Emitted, Finished, Pruned, emit
from cep.nfa.step_counts import StepEvent, StepTally, Taken
from cep.nfa.transition_table import (
    TRANSITION_BRANCHES,
    TRANSITION_RULES,
    Branch,
    EventTransitions,
    RuleCondition,
    TransitionTable,
)
from cep.nfa.waiting import deadline_ms
from cep.nfa.written_runs import WrittenRuns
from cep.pattern.tree import SkipKind


@dataclass(frozen=True, slots=True)
class TimedOut:
    """Partial matches that ran out of time: the window of `rules` closed at `timeout_ms`."""

    rules: int
    cell: Any
    timeout_ms: int


class _EventStep:
    """One event on its way through the partial matches of a key."""

    __slots__ = (
        "_aggregate_count",
        "accepted",
        "broken",
        "event",
        "finished",
        "moved",
        "sequence",
        "time_ms",
    )

    def __init__(self, event: Any, sequence: int, time_ms: int, aggregate_count: int) -> None:
        self.event = event
        self.sequence = sequence
        self.time_ms = time_ms
        self.moved: list[Run] = []
        self.finished: list[Finished] = []
        self.accepted: list[Taken] = []
        self.broken: list[tuple[int, Cell]] = []
        self._aggregate_count = aggregate_count

    def follow(self, outcome: RunOutcome, rules: int, run: Run) -> None:
        """Let a partial match become what the outcome says, for some of its rules.

        The partial match without events, which every event may start, only goes on by accepting.
        """
        _, _, start, start_ms, previous_ms, cell = run
        if cell is not None and not outcome.successors and not outcome.finished:
            self.broken.append((rules, cell))
        taken: Cell | None = None
        for target, step in outcome.successors:
            if step != NO_EVENT:
                if taken is None or taken[CELL_STEP] != step:
                    taken = self.accept(cell, step, rules)
                self.moved.append((target, rules, start, start_ms, self.time_ms, taken))
            elif cell is not None:
                self.moved.append((target, rules, start, start_ms, previous_ms, cell))
        for step in outcome.finished:
            if step != NO_EVENT:
                if taken is None or taken[CELL_STEP] != step:
                    taken = self.accept(cell, step, rules)
                self.finished.append((rules, start, taken))
            elif cell is not None:
                self.finished.append((rules, start, cell))

    def accept(self, previous: Cell | None, step: int, rules: int) -> Cell:
        """Return the cell of this event, which some rules accept for a step behind `previous`."""
        self.accepted.append((rules, step, previous is None or previous[CELL_STEP] != step))
        states = [UNFOLDED] * self._aggregate_count if self._aggregate_count else None
        return (previous, step, self.sequence, self.event, states)


class Machine:
    """A program with the conditions of the rules that share it.

    Immutable but for its caches, `stopped`, the rules that start nothing any more, and `tally`,
    how far partial matches got since it was cleared. `rules` has per rule its conditions in the
    order of `CompiledPattern.conditions`; a cell has room for `aggregate_count` aggregate states.
    """

    def __init__(
        self,
        program: Program,
        rules: Sequence[Sequence[RuleCondition]],
        *,
        aggregate_count: int = 0,
        limits: Limits | None = None,
    ) -> None:
        self.program = program
        self.limits = limits or Limits()
        self.aggregate_count = aggregate_count
        self.deadlines_can_come_nearer = program.has_previous_windows
        self._has_absences = any(state.kind is StateKind.PENDING for state in program.states)
        self.stopped = 0
        self.tally = StepTally()
        self._events_checkpoint = self.limits.events + self.limits.events // 10
        self.table = TransitionTable(program, rules)
        self.all_rules = self.table.all_rules

    @property
    def can_hold_back(self) -> bool:
        """Whether a finished match may have to wait for a partial match."""
        return self.program.skip.kind is not SkipKind.NO_SKIP

    def new_key(self) -> KeyRuns:
        """Return the state of a key without partial matches."""
        return KeyRuns()

    def payload(self, key: KeyRuns) -> list[Any]:
        """Return the state of a key as plain values."""
        if isinstance(key, WrittenRuns) and key.payload is not None:
            return key.payload
        return runs_payload(key)

    def of_payload(
        self, payload: list[Any], translate: Callable[[Any], Any] | None = None
    ) -> KeyRuns:
        """Return the state of a key that `payload` described.

        `translate` makes an event as it is read now of one as it was written.

        Raises:
            StateEncodingError: the payload is not well formed, which may show only when the key is
                first used.
        """
        if translate is None:
            return WrittenRuns(payload, self.aggregate_count)
        return runs_of_payload(payload, aggregate_count=self.aggregate_count, translate=translate)

    def transitions(
        self, true_tests: Iterable[int], starting: int | None = None, going_on: int | None = None
    ) -> EventTransitions:
        """Return what an event does, given the numbers of the event tests that hold for it.

        Rules in `starting` may begin partial matches, those in `going_on` may have some; by default
        all.
        """
        return self.table.transitions(
            true_tests,
            self.all_rules if starting is None else starting,
            self.all_rules if going_on is None else going_on,
        )

    def rules_with(self, test: int) -> int:
        """Return the rules with a condition that a test on the event alone is part of."""
        return self.table.rules_with(test)

    def process(
        self, key: KeyRuns, transitions: EventTransitions, event: Any, time_ms: int
    ) -> list[Emitted] | None:
        """Move the partial matches of a key by one event; return the matches that come out.

        Returns `None`, and leaves the key alone, if the event changes none of its partial matches
        and starts none. The key's time must have been advanced to `time_ms` before (see `advance`).
        An error leaves the key as it was.

        Raises:
            LimitExceeded: the key would hold too much.
            SkipTargetMissing: see `emit`.
        """
        runs = key.runs
        unmoved = transitions.unmoved(key)
        start = transitions.start
        if start is None and unmoved == len(runs):
            return None
        key.events_bound += 1
        if key.events_bound > self._events_checkpoint and key.events_bound > key.events_checked:
            check_events(self.limits, key)
        sequence = key.sequence
        step = _EventStep(event, sequence, time_ms, self.aggregate_count)
        moved, finished = step.moved, step.finished
        moved += runs[:unmoved]
        most = max(self.limits.partial_matches, key.held_checked)
        for run in runs[unmoved:]:
            if len(moved) > most:  # one event can multiply them
                check_held(self.limits, key, moved, len(moved))
                most = key.held_checked
            concerned, branches = transitions[run[RUN_STATE]]
            if concerned & run[RUN_RULES]:
                self._move(step, run, branches)
            else:
                moved.append(run)
        if start is not None and (starting := start[TRANSITION_RULES] & ~self.stopped):
            nothing_yet = (self.program.start, starting, sequence, time_ms, time_ms, None)
            self._move(step, nothing_yet, start[TRANSITION_BRANCHES])
            key.rules |= starting
        held_back = sum(len(queue) for _, queue in key.waiting) if key.waiting else 0
        held = len(moved) + held_back
        if held > self.limits.partial_matches and held > key.held_checked:
            check_held(self.limits, key, moved, held)
        key.sequence = sequence + 1
        key.runs = moved
        emitted: list[Emitted] = _NOTHING
        if finished or key.waiting:
            waiting = key.waiting
            try:
                emitted = self._emit(key, finished)
            except SkipTargetMissing:
                key.runs, key.waiting, key.sequence = runs, waiting, sequence
                raise
        self.tally.moved(step.accepted, step.broken, time_ms)
        return emitted

    def _move(self, step: _EventStep, run: Run, branches: tuple[Branch, ...]) -> None:
        state, rules, start, start_ms, previous_ms, cell = run
        branch = branches[0]
        if branch.sole_step != NO_EVENT and not rules & ~branch.rules:
            # By far the most common case: all rules accept the event and go on together.
            taken = step.accept(cell, branch.sole_step, rules)
            step.moved.append((branch.sole_target, rules, start, start_ms, step.time_ms, taken))
            return
        for branch in branches:
            concerned = rules & branch.rules
            if not concerned:
                continue
            rules ^= concerned
            if branch.outcome is not None:
                step.follow(branch.outcome, concerned, run)
            else:
                outcomes = self.table.test_residuals(
                    branch, concerned, run, step.event, step.time_ms
                )
                for outcome, agreeing in outcomes:
                    step.follow(outcome, agreeing, run)
        if rules and cell is not None:
            step.moved.append((state, rules, start, start_ms, previous_ms, cell))

    # Time

    def next_deadline_ms(self, key: KeyRuns) -> int | None:
        """Return when the next window of the key closes; `None` if no open window does."""
        if not self.deadlines_can_come_nearer:
            window_ms, start_ms = self.program.window_ms, key.first_start_ms
            return start_ms + window_ms if window_ms and start_ms is not None else None
        deadlines = [
            deadline
            for run in key.open_runs()
            if (deadline := deadline_ms(self.program, run)) is not None
        ]
        return min(deadlines, default=None)

    def absences_until(self, key: KeyRuns, time_ms: int) -> dict[int, int]:
        """Return when partial matches that become matches by a time do so, by `id` of last cell.

        Those are what waits for the end of a window in which something must not come.
        """
        if not self._has_absences:
            return {}
        return {
            id(run[RUN_CELL]): closes_ms
            for run in key.runs
            if self.program.states[run[RUN_STATE]].kind is StateKind.PENDING
            and (closes_ms := deadline_ms(self.program, run)) is not None
            and closes_ms <= time_ms
        }

    def advance(self, key: KeyRuns, time_ms: int) -> tuple[list[Emitted], list[TimedOut]]:
        """Tell a key that time has come to `time_ms`: every window up to it is closed.

        Worth calling only when one is due (see `next_deadline_ms`).
        Returns the matches this frees or completes, then the partial matches that timed out.
        An error leaves the key as it was.

        Raises:
            SkipTargetMissing: see `emit`.
        """
        runs, waiting = key.runs, key.waiting
        expired, key.runs = self._split_at(runs, time_ms)
        key.bound_rules()
        finished: list[Finished] = []
        timed_out: list[TimedOut] = []
        for run in expired:
            if self.program.states[run[RUN_STATE]].kind is StateKind.PENDING:
                finished.append((run[RUN_RULES], run[RUN_START], run[RUN_CELL]))
            else:
                timed_out.append(
                    TimedOut(run[RUN_RULES], run[RUN_CELL], self._timeout_ms(run, time_ms))
                )
        try:
            emitted = self._emit(key, finished)
        except SkipTargetMissing:
            key.runs, key.waiting = runs, waiting
            key.bound_rules()
            raise
        self.tally.count_ended(StepEvent.TIMED_OUT, ((each.rules, each.cell) for each in timed_out))
        return emitted, timed_out

    def release(self, key: KeyRuns, rules: int) -> list[Emitted]:
        """Give up the partial matches of some rules; return the matches that they held back.

        Those come out as if the partial matches before them had ended without a match, so that the
        skip strategy holds among them. Other rules are not touched. An error leaves the key as it
        was.

        Raises:
            SkipTargetMissing: see `emit`.
        """
        runs, waiting = key.runs, key.waiting
        key.give_up_runs(rules)
        try:
            return self._emit(key, [])
        except SkipTargetMissing:
            key.runs, key.waiting = runs, waiting
            key.bound_rules()
            raise

    def _emit(self, key: KeyRuns, finished: list[Finished]) -> list[Emitted]:
        pruned: Pruned = []
        emitted = emit(self.program.skip, key, finished, pruned)
        if pruned:
            self.tally.count_ended(StepEvent.PRUNED, pruned)
        return emitted

    def _split_at(self, runs: list[Run], time_ms: int) -> tuple[list[Run], list[Run]]:
        """Return the partial matches with a window closed by `time_ms`, and the others."""
        expired: list[Run] = []
        if not self.deadlines_can_come_nearer:  # windows close in the order of the first events
            for position, run in enumerate(runs):
                if run[RUN_START_MS] + self.program.window_ms > time_ms:
                    return expired, runs[position:]
                expired.append(run)
            return expired, []
        kept: list[Run] = []
        for run in runs:
            closes_ms = deadline_ms(self.program, run)
            is_open = closes_ms is None or closes_ms > time_ms
            (kept if is_open else expired).append(run)
        return expired, kept

    def _timeout_ms(self, run: Run, time_ms: int) -> int:
        """Where both windows have closed, the one since the previous event counts, as in Flink."""
        previous_window_ms = self.program.states[run[RUN_STATE]].previous_window_ms
        if previous_window_ms and run[RUN_PREVIOUS_MS] + previous_window_ms <= time_ms:
            return run[RUN_PREVIOUS_MS] + previous_window_ms
        return run[RUN_START_MS] + self.program.window_ms


_NOTHING: list[Emitted] = []

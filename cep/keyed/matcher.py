"""Many rules over a stream of many keys: the matcher that others feed.

    event + which tests hold ──► KeyedMatcher.process ──► detections
    watermark                ──► KeyedMatcher.advance_to ──► timeouts, absences

Rules of equal shape run together in one machine (see `cep.nfa.machine`). Windows close in the order
of their deadlines, on every key, without a later event on that key.
"""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from cep.bounded_cache import BoundedCache
from cep.expression import FieldReader, Schema, mapping_reader
from cep.keyed.deadlines import DeadlineQueue
from cep.keyed.machines import KeyState
from cep.keyed.rules import Reading, shapes_of
from cep.keyed.shapes import Detection, EventKind, RuleFailure, Selection, Shape
from cep.nfa.conditions import CodeGuard, EventTests
from cep.nfa.errors import MatchingError
from cep.nfa.limits import Limits
from cep.nfa.step_counts import StepCounts
from cep.nfa.transition_table import kinds_capacity
from cep.pattern import Pattern

_NONE: Final[Mapping[int, int]] = {}


class KeyedMatcher:
    """Partial matches of many rules on many keys.

    Args:
        rules: pattern by rule id.
        field_reader: how conditions read a field of an event; mappings by default.
        schema: the columns of an event, where they are known.
        limits: what each rule may hold for one key, for all rules alike or by rule id.
        kept_apart: rules with different values here never share a machine; those without one may.
        on_failure: called with a rule that raised or broke its limits; that rule stops and loses
            its partial matches on all keys, the others go on as if it had never been. Without it
            the error is raised.
        event_view: what a Python condition is given for an event.
        guard: what conditions in Python are wrapped in; see `cep.nfa.conditions.CodeGuard`.
        in_deadline_order: close windows one deadline after the other, whatever the times of the
            events that advance time, so that results do not depend on events that concern nobody.
            Otherwise all windows that are over close together when time advances, as Flink's NFA
            does.
        clauses_as_patterns: run clauses as patterns where both find the same.
    """

    def __init__(  # noqa: PLR0913 - independent options, by name
        self,
        rules: Mapping[str, Pattern],
        *,
        field_reader: FieldReader = mapping_reader,
        schema: Schema | None = None,
        limits: Limits | Mapping[str, Limits] | None = None,
        kept_apart: Mapping[str, Hashable] = MappingProxyType({}),
        on_failure: Callable[[RuleFailure], None] | None = None,
        event_view: Callable[[Any], Any] = lambda event: event,
        guard: CodeGuard | None = None,
        in_deadline_order: bool = False,
        clauses_as_patterns: bool = True,
    ) -> None:
        self.tests = EventTests()
        self._on_failure = on_failure
        reading = Reading(
            field_reader=field_reader,
            schema=schema,
            event_view=event_view,
            guard=guard,
            clauses_as_patterns=clauses_as_patterns,
        )
        self.shapes = shapes_of(rules, self.tests, reading, limits, kept_apart)
        self._in_deadline_order = in_deadline_order
        self._counted: dict[int, int] = {}
        self._timeouts: Counter[tuple[int, int]] = Counter()
        self._deadlines = DeadlineQueue()
        self.time_ms: int | None = None

    def select(self, rules: Collection[str]) -> Selection:
        """Return some rules as one bit set per shape."""
        chosen = frozenset(rules)
        return tuple(
            sum(1 << bit for bit, member in enumerate(shape.members) if member.rule in chosen)
            for shape in self.shapes
        )

    def kind(
        self,
        true_tests: Collection[int],
        starting: Selection | None = None,
        going_on: Selection | None = None,
    ) -> EventKind:
        """Return what an event does, given which of `tests` hold for it, by number.

        Keep the result for the next event for which the same tests hold (see `kinds`). Rules in
        `starting` may begin partial matches, those in `going_on` may have some; all by default.
        """
        everything = self.all_rules
        by_shape = (
            (shape, shape.machine.transitions(true_tests, first, further))
            for shape, first, further in zip(
                self.shapes, starting or everything, going_on or everything, strict=True
            )
        )
        return tuple((shape, found) for shape, found in by_shape if found.can_concern)

    def kinds(self) -> BoundedCache[tuple[int, ...], EventKind]:
        """Return a cache of `kind` for all rules, by the numbers of the tests that hold."""
        return BoundedCache(
            self.kind, kinds_capacity(len(self.tests)), lambda _, kind: 1 + len(kind)
        )

    @property
    def all_rules(self) -> Selection:
        """All rules, as one bit set per shape."""
        return tuple(shape.machine.all_rules for shape in self.shapes)

    def keep_only(self, rules: Selection) -> None:
        """Give up the partial matches of all other rules, and of stopped ones, on every key."""
        for shape, given in zip(self.shapes, rules, strict=True):
            kept = given & ~shape.machine.stopped
            if kept != shape.machine.all_rules:
                self._keep_only(shape, kept)

    def _keep_only(self, shape: Shape, kept: int) -> None:
        for key, runs in list(shape.keys.items()):
            if (runs.rules | runs.held_back_rules()) & ~kept:
                runs.keep_only(kept)
                self.settle(shape, key, runs)

    def release(self, rules: Selection, time_ms: int) -> list[Detection]:
        """Give up the partial matches of rules that hold back matches; return those matches.

        A complete match waits while a partial match of its rule with an earlier start is open. Here
        it comes out as if those had ended at `time_ms` without a match.
        """
        detections: list[Detection] = []
        for shape, given in zip(self.shapes, rules, strict=True):
            for key, runs in list(shape.keys.items()) if given else ():
                emitted: Sequence[tuple[int, Any]] = ()
                while chosen := given & ~shape.machine.stopped & runs.held_back_rules():
                    try:
                        emitted = shape.machine.release(runs, chosen)
                        break
                    except MatchingError as error:
                        self._stop(shape, error, key, None)
                if emitted:
                    self.settle(shape, key, runs)
                for of_rules, cell in emitted:
                    detections.extend(shape.detections(of_rules, key, cell, time_ms))
        return detections

    def process(self, key: Hashable, kind: EventKind, event: Any, time_ms: int) -> list[Detection]:
        """Process one event of a key; events of a key come in order of time.

        The caller advances time first (`advance_to`), also for events that concern no rule.
        """
        detections: list[Detection] = []
        for shape, transitions in kind:
            runs = shape.keys.get(key)
            if runs is None:
                if transitions.start is None:
                    continue
                runs = shape.keys[key] = shape.machine.new_key()
            try:
                emitted = shape.machine.process(runs, transitions, event, time_ms)
            except MatchingError as error:
                attempt = partial(shape.machine.process, runs, transitions, event, time_ms)
                emitted = self._again(shape, error, key, event, attempt)
                shape.keys[key] = runs  # stopping a rule may have freed it
            if emitted is None:
                continue
            self.settle(shape, key, runs)
            for rules, cell in emitted:
                detections.extend(shape.detections(rules, key, cell, time_ms))
        return detections

    def _again(
        self,
        shape: Shape,
        error: MatchingError,
        key: Hashable,
        event: Any,
        attempt: Callable[[], Sequence[tuple[int, Any]] | None],
    ) -> Sequence[tuple[int, Any]]:
        """Process an event again without the rule that failed on it, and the next that does."""
        while True:
            self._stop(shape, error, key, event)
            try:
                return attempt() or []
            except MatchingError as another:
                error = another

    def _stop(self, shape: Shape, error: MatchingError, key: Hashable, event: Any) -> None:
        guilty = error.rules or shape.bit_of(error)
        if self._on_failure is None or not guilty:
            raise error
        shape.stop(guilty)
        self._keep_only(shape, ~guilty & shape.machine.all_rules)
        names = shape.rules_of(guilty)
        for name in names:
            self._on_failure(RuleFailure(name, error, key, event))

    def rules_with(self, test: int) -> list[str]:
        """Return the rules with a condition that a test is part of, by its number in `tests`."""
        return [
            rule for shape in self.shapes for rule in shape.rules_of(shape.machine.rules_with(test))
        ]

    def fail(self, rule: str, error: MatchingError, key: Hashable, event: Any) -> None:
        """Stop a rule that the caller has found to fail, as one that raises; once is enough.

        Raises:
            MatchingError: the error, if there is no `on_failure`.
        """
        for shape, chosen in zip(self.shapes, self.select([rule]), strict=True):
            if guilty := chosen & ~shape.machine.stopped:
                error.rules = guilty
                self._stop(shape, error, key, event)

    def put(self, shape: Shape, key: Hashable, runs: KeyState) -> None:
        """Put the state of a key in the place of what is there, and wait for its next window."""
        if (there := shape.keys.get(key)) is not None:
            self._deadlines.cancel(there)
        shape.keys[key] = runs
        self.settle(shape, key, runs)

    def replace(self, shape: Shape, key: Hashable, runs: KeyState, until_ms: int) -> None:
        """Put what a key holds once time has come to `until_ms` in the place of what is there.

        None of its windows is closed on the way there; settle the key afterwards.
        """
        if (there := shape.keys.get(key)) is not None:
            if there.scheduled is not None and there.scheduled[0] <= until_ms:
                self._deadlines.cancel(there)
            runs.scheduled = there.scheduled
        shape.keys[key] = runs

    def settle(self, shape: Shape, key: Hashable, runs: KeyState) -> None:
        """Free a key that has become idle; see that the next window of a busy one is waited for."""
        if runs.is_idle:
            shape.keys.pop(key, None)
            self._deadlines.cancel(runs)
        elif runs.scheduled is None or shape.machine.deadlines_can_come_nearer:
            deadline_ms = shape.machine.next_deadline_ms(runs)
            if deadline_ms is not None:
                self._deadlines.schedule(shape, key, runs, deadline_ms)

    def advance_to(self, time_ms: int) -> list[Detection]:
        """Close every window up to `time_ms`; return matches this brings, and timeouts.

        Does nothing where time has not moved on since the last call.
        """
        if self.time_ms is not None and time_ms <= self.time_ms:
            return []
        self.time_ms = time_ms
        detections: list[Detection] = []
        while due := self._deadlines.pop_due(time_ms):
            deadline_ms, shape, key, runs = due
            if shape.machine.next_deadline_ms(runs) != deadline_ms:
                # The partial match that was waited for is gone; the next one has more time.
                self.settle(shape, key, runs)
                continue
            closing_ms, closings = deadline_ms, _NONE
            if not self._in_deadline_order:
                closing_ms, closings = time_ms, shape.machine.absences_until(runs, time_ms)
            try:
                emitted, timed_out = shape.machine.advance(runs, closing_ms)
            except MatchingError as error:
                self._stop(shape, error, key, None)
                # What is left of the key has its turn again, now without the rule that failed.
                self.settle(shape, key, runs)
                continue
            self.settle(shape, key, runs)
            for rules, cell in emitted:
                found_ms = closings.get(id(cell), deadline_ms)
                detections.extend(shape.detections(rules, key, cell, found_ms))
            for late in timed_out:
                told = self.count_timeouts(shape, late.rules)
                found = shape.detections(told, key, late.cell, late.timeout_ms, is_timeout=True)
                detections.extend(found)
        return detections

    def count_timeouts_of(self, rules: Collection[str]) -> None:
        """Only count the timeouts of these rules; emit those of all others.

        What a clause that is searched for has found is emitted in any case.
        """
        chosen = zip(self.shapes, self.select(rules), strict=True)
        self._counted = {id(shape): bits for shape, bits in chosen if bits}

    def counted_of(self, shape: Shape) -> int:
        """Return the rules of a shape whose timeouts are counted only, as bits."""
        return self._counted.get(id(shape), 0)

    def count_timeouts(self, shape: Shape, rules: int, number: int = 1) -> int:
        """Count timeouts of those rules whose timeouts are counted; return the other rules."""
        counted = self.counted_of(shape) & rules
        if counted:
            self._timeouts[id(shape), counted] += number
        return rules & ~counted

    def counted_timeouts(self) -> Counter[str]:
        """Return how many timeouts of each rule have been counted since all keys were cleared."""
        shapes = {id(shape): shape for shape in self.shapes}
        counts = Counter[str]()
        for (shape, rules), number in self._timeouts.items():
            for rule in shapes[shape].rules_of(rules):
                counts[rule] += number
        return counts

    def step_counts(self) -> dict[str, dict[str, StepCounts]]:
        """Return by rule and step what has been counted since all keys were cleared.

        Steps at which nothing has happened are left out, and clauses that are searched for.
        """
        counts: dict[str, dict[str, StepCounts]] = {}
        for shape in self.shapes:
            for rule, step, of_step in shape.step_counts():
                of_rule = counts.setdefault(rule, {})
                if step in of_rule:  # a variable that stands in several places
                    of_rule[step] = replace(of_rule[step])
                    of_rule[step].add(of_step)
                else:
                    of_rule[step] = of_step
        return counts

    def end(self) -> Iterator[list[Detection]]:
        """Forget all partial matches, as no event comes any more; yield the matches this frees.

        Close the windows before (`advance_to`). The matches of a key come together, with the time
        to which it was advanced.
        """
        for shape in self.shapes:
            while shape.keys:
                key, runs = next(iter(shape.keys.items()))
                try:
                    emitted = shape.machine.release(runs, shape.machine.all_rules)
                except MatchingError as error:
                    self._stop(shape, error, key, None)
                    continue
                self.settle(shape, key, runs)
                if emitted:
                    yield [
                        found
                        for rules, cell in emitted
                        for found in shape.detections(rules, key, cell, self.time_ms or 0)
                    ]

    def stop(self, rules: Collection[str]) -> None:
        """Let these rules start nothing more and give up what they have started."""
        for shape, stopped in zip(self.shapes, self.select(rules), strict=True):
            if stopped:
                shape.stop(stopped)
                self._keep_only(shape, shape.machine.all_rules & ~shape.machine.stopped)

    def is_stopped(self, rule: str) -> bool:
        """Whether a rule has been stopped; `clear` forgets it."""
        chosen = self.select([rule])
        return any(
            shape.machine.stopped & bits for shape, bits in zip(self.shapes, chosen, strict=True)
        )

    def stopped_rules(self) -> list[str]:
        """Return the rules that have been stopped; `clear` forgets them."""
        return [
            rule
            for shape in self.shapes
            if shape.machine.stopped
            for rule in shape.rules_of(shape.machine.stopped)
        ]

    def clear(self) -> None:
        """Forget all keys, the time and who was stopped: another place can begin with it."""
        for shape in self.shapes:
            shape.keys.clear()
            shape.machine.stopped = 0
            shape.clear_steps()
        self._timeouts.clear()
        self._deadlines.clear()
        self.time_ms = None

    def open_partial_matches(self) -> int:
        """Return the number of open partial matches over all rules and keys."""
        return sum(
            runs.partial_match_count() for shape in self.shapes for runs in shape.keys.values()
        )

    def held_back_matches(self) -> int:
        """Return the number of finished matches that wait for an earlier partial match."""
        return sum(runs.held_back_count() for shape in self.shapes for runs in shape.keys.values())

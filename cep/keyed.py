"""Many rules over a stream of many keys: the matcher that others feed.

    event + which tests hold ──► KeyedMatcher.process ──► detections
    watermark                ──► KeyedMatcher.advance_to ──► timeouts, absences

Rules of equal shape run together in one machine (see `cep.nfa.machine`). Windows close in the order
of their deadlines, on every key, without a later event on that key.
"""

import heapq
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import count
from typing import Any, NamedTuple

from cep.expression import FieldReader, Schema, mapping_reader
from cep.nfa.compiler import CompiledPattern, compile_pattern
from cep.nfa.conditions import Aggregates, ConditionBinder, EventTests
from cep.nfa.machine import Limits, Machine
from cep.nfa.program import Program
from cep.nfa.reactions import Reactions
from cep.nfa.runs import Cell, KeyRuns, events_by_step
from cep.pattern import Pattern


class Detection(NamedTuple):
    """One match, or one partial match that timed out. A tuple, as there may be very many.

    `time_ms` is the event time at which it was found: that of the event, or when the window closed.
    `cell` is the last of its linked events; `steps` materialises them.
    """

    rule: str
    key: Hashable
    cell: Cell
    step_names: tuple[str, ...]
    time_ms: int
    is_timeout: bool = False

    @property
    def steps(self) -> dict[str, list[Any]]:
        """The accepted events by step name."""
        return events_by_step(self.cell, self.step_names)


@dataclass(frozen=True, slots=True)
class Member:
    """One rule of a shape; `digest` differs where its pattern differs."""

    rule: str
    step_names: tuple[str, ...]
    digest: str


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """The rules that share one program, and their partial matches by key."""

    machine: Machine
    members: tuple[Member, ...]
    keys: dict[Hashable, KeyRuns]

    def detections(
        self, rules: int, key: Hashable, cell: Cell, time_ms: int, *, is_timeout: bool = False
    ) -> Iterator[Detection]:
        """Yield one detection per rule of the set `rules`."""
        while rules:
            bit = rules & -rules
            rules ^= bit
            member = self.members[bit.bit_length() - 1]
            yield Detection(member.rule, key, cell, member.step_names, time_ms, is_timeout)


EventKind = tuple[tuple[Shape, Reactions], ...]
"""What one kind of event does to each shape it can concern; empty = it concerns no rule."""


class KeyedMatcher:
    """Partial matches of many rules on many keys.

    Args:
        rules: pattern by rule id.
        field_reader: how conditions read a field of an event; mappings by default.
        schema: the columns of an event, where they are known.
        limits: what one key may hold per shape of rules.
        in_deadline_order: close windows one deadline after the other, whatever the times of the
            events that advance time, so that results do not depend on events that concern nobody.
            Otherwise all windows that are over close together when time advances, as Flink's NFA
            does.
    """

    def __init__(
        self,
        rules: Mapping[str, Pattern],
        *,
        field_reader: FieldReader = mapping_reader,
        schema: Schema | None = None,
        limits: Limits | None = None,
        in_deadline_order: bool = False,
    ) -> None:
        self.tests = EventTests()
        self._field_reader = field_reader
        self._schema = schema
        self._limits = limits
        by_program: dict[Program, list[tuple[Member, CompiledPattern]]] = {}
        for rule, pattern in rules.items():
            compiled = compile_pattern(pattern.tree)
            digest = blake2b(str(pattern).encode(), digest_size=8).hexdigest()
            member = Member(rule, compiled.step_names, digest)
            by_program.setdefault(compiled.program, []).append((member, compiled))
        self.shapes = tuple(
            self._shape(program, members) for program, members in by_program.items()
        )
        self._in_deadline_order = in_deadline_order
        self._deadlines: list[tuple[int, int, Shape, Hashable]] = []
        self._tie = count()
        self.time_ms: int | None = None

    def _shape(self, program: Program, members: Sequence[tuple[Member, CompiledPattern]]) -> Shape:
        aggregates = Aggregates(self._field_reader)
        binder = ConditionBinder(self.tests, aggregates, self._field_reader, self._schema)
        conditions = [binder.bind(pattern, member.rule) for member, pattern in members]
        machine = Machine(program, conditions, aggregate_count=len(aggregates), limits=self._limits)
        return Shape(machine, tuple(member for member, _ in members), {})

    def kind(self, true_tests: Collection[int]) -> EventKind:
        """Return what an event does, given which of `tests` hold for it, by number.

        Keep the result for the next event for which the same tests hold.
        """
        reactions = ((shape, shape.machine.reactions(true_tests)) for shape in self.shapes)
        return tuple((shape, reaction) for shape, reaction in reactions if reaction.can_concern)

    def process(self, key: Hashable, kind: EventKind, event: Any, time_ms: int) -> list[Detection]:
        """Process one event of a key; events of a key come in order of time.

        The caller advances time first (`advance_to`), also for events that concern no rule.
        """
        detections: list[Detection] = []
        for shape, reactions in kind:
            runs = shape.keys.get(key)
            if runs is None:
                if not reactions.starts:
                    continue
                runs = shape.keys[key] = KeyRuns()
            emitted = shape.machine.process(runs, reactions, event, time_ms)
            if emitted is None:
                continue
            self.settle(shape, key, runs)
            for rules, cell in emitted:
                detections.extend(shape.detections(rules, key, cell, time_ms))
        return detections

    def settle(self, shape: Shape, key: Hashable, runs: KeyRuns) -> None:
        """Free a key that has become idle; see that the next window of a busy one is waited for."""
        if runs.is_idle:
            del shape.keys[key]
        elif runs.scheduled_ms is None or shape.machine.deadlines_can_come_nearer:
            deadline_ms = shape.machine.next_deadline_ms(runs)
            if deadline_ms is not None and (
                runs.scheduled_ms is None or deadline_ms < runs.scheduled_ms
            ):
                runs.scheduled_ms = deadline_ms
                heapq.heappush(self._deadlines, (deadline_ms, next(self._tie), shape, key))

    def advance_to(self, time_ms: int) -> list[Detection]:
        """Close every window up to `time_ms`; return matches this brings, and timeouts.

        Does nothing where time has not moved on since the last call.
        """
        if self.time_ms is not None and time_ms <= self.time_ms:
            return []
        self.time_ms = time_ms
        detections: list[Detection] = []
        while self._deadlines and self._deadlines[0][0] <= time_ms:
            deadline_ms, _, shape, key = heapq.heappop(self._deadlines)
            runs = shape.keys.get(key)
            if runs is None or runs.scheduled_ms != deadline_ms:
                continue
            runs.scheduled_ms = None
            if shape.machine.next_deadline_ms(runs) != deadline_ms:
                # The partial match that was waited for is gone; the next one has more time.
                self.settle(shape, key, runs)
                continue
            closing_ms = deadline_ms if self._in_deadline_order else time_ms
            emitted, timed_out = shape.machine.advance(runs, closing_ms)
            self.settle(shape, key, runs)
            for rules, cell in emitted:
                detections.extend(shape.detections(rules, key, cell, deadline_ms))
            for late in timed_out:
                found = shape.detections(
                    late.rules, key, late.cell, late.timeout_ms, is_timeout=True
                )
                detections.extend(found)
        return detections

    def open_partial_matches(self) -> int:
        """Return the number of open partial matches over all rules and keys."""
        return sum(
            runs.partial_match_count() for shape in self.shapes for runs in shape.keys.values()
        )

    def held_back_matches(self) -> int:
        """Return the number of finished matches that wait for an earlier partial match."""
        return sum(runs.held_back_count() for shape in self.shapes for runs in shape.keys.values())

"""Rules of equal shape, which share a machine and their partial matches; and what they find.

patterns ──KeyedMatcher──► Shape: Machine, Members, KeyRuns by key ──► Detection, RuleFailure
"""

from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from cep.keyed.clause_programs import ClauseMember
from cep.keyed.machines import KeyMachine, KeyState, KeyTransitions
from cep.nfa.chains import Chain
from cep.nfa.errors import ConditionFailed, MatchingError
from cep.nfa.machine import Machine
from cep.nfa.runs import CELL_EVENT, NO_STEP, Cell, accepted_events, by_step, events_by_step
from cep.nfa.step_counts import StepCounts, StepEvent
from cep.row_search.matched import MatchedRows


class Detection(NamedTuple):
    """One match, or one partial match that timed out. A tuple, as there may be very many.

    `time_ms` is the event time at which it was found: that of the event, or when the window closed.
    `cell` is the last of its linked events, what stands for it, or what a row pattern has found;
    `steps` materialises them.
    """

    rule: str
    key: Hashable
    cell: Cell | Chain | MatchedRows
    step_names: tuple[str, ...]
    time_ms: int
    is_timeout: bool = False

    @property
    def steps(self) -> dict[str, list[Any]]:
        """The accepted events by step name, or by variable."""
        if isinstance(self.cell, MatchedRows):
            return self.cell.by_variable(self.step_names)
        if isinstance(self.cell, Chain):
            return by_step(self.cell.steps, self.cell.events, self.step_names)
        return events_by_step(self.cell, self.step_names)

    @property
    def last_event(self) -> Any:
        """The last accepted event; of an empty match the one it was found at."""
        if isinstance(self.cell, MatchedRows):
            return self.cell.rows[self.cell.start + max(0, len(self.cell.codes) - 1)]
        if isinstance(self.cell, Chain):
            return self.cell.events[-1]
        return self.cell[CELL_EVENT]

    @property
    def first_event(self) -> Any:
        """The first accepted event; of an empty match the one it was found at."""
        if isinstance(self.cell, MatchedRows):
            return self.cell.rows[self.cell.start]
        if isinstance(self.cell, Chain):
            return self.cell.events[0]
        return accepted_events(self.cell)[0][CELL_EVENT]


@dataclass(frozen=True, slots=True)
class Member:
    """One rule of a shape; `digest` differs where its pattern differs.

    `clause` is there if the rule is a clause that runs as a pattern; `step_names` are its
    variables then.
    """

    rule: str
    step_names: tuple[str, ...]
    digest: str
    clause: ClauseMember | None = None

    def step_name(self, step: int) -> str:
        """Return the name of a step or variable of the program by number; "" = `NO_STEP`."""
        if step == NO_STEP:
            return ""
        return self.step_names[step if self.clause is None else self.clause.variables[step]]


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """The rules that share one program, and their partial matches by key."""

    machine: KeyMachine
    members: tuple[Member, ...]
    keys: dict[Hashable, KeyState]

    def bit_of(self, error: MatchingError) -> int:
        """Return the rule that an error is about, as a bit set; 0 if unknown.

        With one rule it is that one; of several it is the one whose condition failed.
        """
        if len(self.members) == 1:
            return 1
        if not isinstance(error, ConditionFailed):
            return 0
        return sum(1 << bit for bit, member in enumerate(self.members) if member.rule == error.rule)

    def rules_of(self, rules: int) -> list[str]:
        """Return the ids of the rules in a bit set, in the order of members."""
        return [member.rule for member in self.members_of(rules)]

    def members_of(self, rules: int) -> Iterator[Member]:
        """Yield the rules in a bit set, in the order of members."""
        bits = f"{rules:b}"[::-1]  # faster than sums where there are a thousand rules
        bit = bits.find("1")
        while bit >= 0:
            yield self.members[bit]
            bit = bits.find("1", bit + 1)

    def open_steps(self) -> Counter[tuple[str, str]]:
        """Return how many partial matches are open, by rule and the step of their last event."""
        by_set = Counter[tuple[int, int]]()
        for runs in self.keys.values():
            by_set.update(runs.open_steps())
        counts = Counter[tuple[str, str]]()
        for (rules, step), number in by_set.items():
            for member in self.members_of(rules):
                counts[member.rule, member.step_name(step)] += number
        return counts

    def stop(self, rules: int) -> None:
        """Let rules start nothing more, and count what they have open as ended by that."""
        if isinstance(self.machine, Machine):
            for runs in self.keys.values():
                lasts = ((held & rules, step) for held, step in runs.open_steps() if held & rules)
                self.machine.tally.count_ended_at(StepEvent.STOPPED, lasts)
        self.machine.stopped |= rules

    def step_counts(self) -> Iterator[tuple[str, str, StepCounts]]:
        """Yield a rule, the name of a step or variable, and what its machine has counted there."""
        if not isinstance(self.machine, Machine):
            return
        for bit, step, counts in self.machine.tally.by_rule():
            member = self.members[bit]
            yield member.rule, member.step_name(step), counts

    def clear_steps(self) -> None:
        """Let its machine count from nothing."""
        if isinstance(self.machine, Machine):
            self.machine.tally.clear()

    def detections(
        self,
        rules: int,
        key: Hashable,
        cell: Cell | Chain | MatchedRows,
        time_ms: int,
        *,
        is_timeout: bool = False,
    ) -> Iterator[Detection]:
        """Yield one detection per rule of the set `rules`; what a clause has found says itself."""
        if isinstance(cell, MatchedRows):
            is_timeout = cell.is_timeout
        variables: tuple[int, ...] | None = None
        while rules:
            bit = rules & -rules
            rules ^= bit
            member = self.members[bit.bit_length() - 1]
            found = cell
            if member.clause is not None and not isinstance(cell, MatchedRows):
                if member.clause.variables != variables:  # most rules of a shape have the same
                    variables = member.clause.variables
                    last = cell.linked() if isinstance(cell, Chain) else cell
                    rows = member.clause.matched_rows(last, is_timeout=is_timeout)
                found = rows
            yield Detection(member.rule, key, found, member.step_names, time_ms, is_timeout)


@dataclass(frozen=True, slots=True)
class RuleFailure:
    """A rule that raised or broke its limits on a key.

    `event` is the one it failed on, `None` if a window closed.
    """

    rule: str
    error: MatchingError
    key: Hashable
    event: Any


Selection = tuple[int, ...]
"""Some rules of a matcher: one bit set per shape."""

EventKind = tuple[tuple[Shape, KeyTransitions], ...]
"""What one kind of event does to each shape it can concern; empty = it concerns no rule."""

"""What one kind of event does to the partial matches of many rules, by state.

    tests that hold ──► ReactionTable ──► Reactions[state] = branches, split by rules ──► machine

Computed on first use and cached: a stream has few kinds of events, even if it has many events.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from cep.nfa.decision import NO_EVENT, DecisionTable, Outcome
from cep.nfa.program import Program
from cep.nfa.runs import Cell, KeyRuns, Run

Residual = Callable[[Any, Cell | None, int], bool]
"""The rest of a condition: `(event, last cell of the partial match, time_ms) -> is TRUE`."""


@dataclass(frozen=True, slots=True)
class RuleCondition:
    """One condition of one rule, in two parts that must both hold.

    `event_test` names a test on the event alone, which the caller evaluates (once for all rules
    that use it); `None` if there is none. `residual` is `None` if the event alone decides.
    """

    event_test: int | None
    residual: Residual | None


@dataclass(frozen=True, slots=True)
class Branch:
    """What an event does in one state for the rules in `rules`.

    `outcome` is `None` where it depends on `residuals`: conditions whose event part holds and whose
    other part must be tested for each partial match; `truth` holds the conditions that are certain.
    Where the outcome is just that the event is accepted, `sole_target` and `sole_step` say how;
    else `sole_step` is `NO_EVENT`.
    """

    rules: int
    outcome: Outcome | None
    truth: int
    residuals: tuple[int, ...]
    sole_target: int
    sole_step: int


Reaction = tuple[int, tuple[Branch, ...]]
"""What an event does in one state: the rules whose partial matches it changes, and how."""


class Reactions(dict[int, Reaction | None]):
    """What one kind of event does in each state; `None` where no partial match changes.

    Filled on first use. Two events are of one kind when the same event tests hold for them. `rules`
    are those for which it can change a partial match that has begun; `start` is how it begins one,
    `None` if it begins none.

    Args:
        table: computes a reaction.
        holds: see `ReactionTable.reaction`.
        starting: the rules that may begin partial matches.
        going_on: the rules that may continue some.
    """

    def __init__(
        self, table: "ReactionTable", holds: tuple[int, ...], starting: int, going_on: int
    ) -> None:
        super().__init__()
        self._table = table
        self._holds = holds
        self.start = _only(self[table.program.start], starting)
        self.rules = 0
        for state in range(len(table.program.states)):
            if table.program.is_waiting(state) and (reaction := self[state]) is not None:
                self.rules |= reaction[0] & going_on

    @property
    def can_concern(self) -> bool:
        """Whether such an event can start a partial match or change any."""
        return self.start is not None or self.rules != 0

    @property
    def concerned(self) -> int:
        """The rules for which it can start a partial match or change one."""
        return self.rules if self.start is None else self.rules | self.start[0]

    def __missing__(self, state: int) -> Reaction | None:
        reaction = self[state] = self._table.reaction(state, self._holds)
        return reaction

    def unmoved(self, key: KeyRuns) -> int:
        """Return how many partial matches of a key, from the first on, it does not change."""
        if self.rules & key.rules:
            for position, run in enumerate(key.runs):
                reaction = self[run[0]]
                if reaction is not None and reaction[0] & run[1]:
                    return position
        return len(key.runs)


class ReactionTable:
    """The conditions of the rules that share a program; immutable except for its caches.

    Args:
        program: the program of the rules.
        rules: per rule, its conditions in the order of `CompiledPattern.conditions`.
    """

    def __init__(self, program: Program, rules: Sequence[Sequence[RuleCondition]]) -> None:
        self.program = program
        self._rules = tuple(tuple(conditions) for conditions in rules)
        self.all_rules = (1 << len(rules)) - 1
        self._decisions = DecisionTable(program)
        self._residual_rules = [0] * program.condition_count
        self._untested_rules = [0] * program.condition_count
        self._uses: dict[int, list[tuple[int, int]]] = {}
        for rule, conditions in enumerate(rules):
            for index, condition in enumerate(conditions):
                if condition.residual is not None:
                    self._residual_rules[index] |= 1 << rule
                if condition.event_test is None:
                    self._untested_rules[index] |= 1 << rule
                else:
                    self._uses.setdefault(condition.event_test, []).append((index, 1 << rule))
        self._reactions: dict[tuple[tuple[int, ...], int, int], Reactions] = {}

    def reactions(self, true_tests: Iterable[int], starting: int, going_on: int) -> Reactions:
        """Return what an event does, given the event tests that hold for it.

        `starting` are the rules that may begin partial matches, `going_on` those that may continue
        some.
        """
        holds = list(self._untested_rules)
        for test in true_tests:
            for condition, rules in self._uses.get(test, ()):
                holds[condition] |= rules
        key = (tuple(holds), starting, going_on)
        reactions = self._reactions.get(key)
        if reactions is None:
            reactions = self._reactions[key] = Reactions(self, *key)
        return reactions

    def reaction(self, state: int, holds: tuple[int, ...]) -> Reaction | None:
        """Return what an event does in `state`; `None` if it changes nothing.

        `holds[i]` is the set of rules for which the event test of condition `i` holds.
        """
        relevant = self._decisions.relevant(state)
        parts: list[tuple[int, int, tuple[int, ...]]] = [(self.all_rules, 0, ())]
        for condition in range(self.program.condition_count):
            if relevant >> condition & 1:
                parts = self._split(parts, condition, holds[condition])
        branches = []
        concerned = 0
        for rules, truth, residuals in parts:
            outcome = None if residuals else self._decisions.outcome(state, truth)
            if outcome is None or not self._is_unchanged(state, outcome):
                target, step = _sole_successor(outcome)
                branches.append(Branch(rules, outcome, truth, residuals, target, step))
                concerned |= rules
        return (concerned, tuple(branches)) if branches else None

    def _is_unchanged(self, state: int, outcome: Outcome) -> bool:
        if state == self.program.start:  # no partial match yet: only accepting makes one
            takes = any(step != NO_EVENT for _, step in outcome.successors)
            return not takes and not any(step != NO_EVENT for step in outcome.finished)
        return self._decisions.is_unchanged(state, outcome)

    def _split(
        self, parts: list[tuple[int, int, tuple[int, ...]]], condition: int, holds: int
    ) -> list[tuple[int, int, tuple[int, ...]]]:
        split = []
        residual = self._residual_rules[condition]
        for rules, truth, residuals in parts:
            if certain := rules & holds & ~residual:
                split.append((certain, truth | 1 << condition, residuals))
            if uncertain := rules & holds & residual:
                split.append((uncertain, truth, (*residuals, condition)))
            if refused := rules & ~holds:
                split.append((refused, truth, residuals))
        return split

    def test_residuals(
        self, branch: Branch, concerned: int, run: Run, event: Any, time_ms: int
    ) -> Iterable[tuple[Outcome, int]]:
        """Test per rule the conditions that need the partial match; return the rules by outcome."""
        by_outcome: dict[Outcome, int] = {}
        while concerned:
            bit = concerned & -concerned
            concerned ^= bit
            conditions = self._rules[bit.bit_length() - 1]
            truth = branch.truth
            for condition in branch.residuals:
                residual = conditions[condition].residual
                if residual is None or residual(event, run[5], time_ms):
                    truth |= 1 << condition
            outcome = self._decisions.outcome(run[0], truth)
            by_outcome[outcome] = by_outcome.get(outcome, 0) | bit
        return by_outcome.items()


def _only(reaction: Reaction | None, rules: int) -> Reaction | None:
    """Return a reaction restricted to some rules; `None` if it concerns none of them."""
    if reaction is None or not reaction[0] & rules:
        return None
    return (reaction[0] & rules, reaction[1])


def _sole_successor(outcome: Outcome | None) -> tuple[int, int]:
    if outcome is None or outcome.finished or len(outcome.successors) != 1:
        return (NO_EVENT, NO_EVENT)
    return outcome.successors[0]

"""What one kind of event does to the partial matches of many rules, by state.

    tests that hold ──► TransitionTable ──► EventTransitions[state] = StateTransition ──► machine

A program has static transitions with guards; here they are computed for one kind of event and all
rules at once, on first use, as a lazy DFA does: a stream has few kinds of events, however many
events it has. Where it has many, what was computed is forgotten from time to time.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cep.bounded_cache import BoundedCache
from cep.expression import Node, Schema
from cep.nfa.decision import NO_EVENT, DecisionTable, RunOutcome
from cep.nfa.program import Program
from cep.nfa.runs import RUN_CELL, RUN_RULES, RUN_STATE, Cell, KeyRuns, Run

Residual = Callable[[Any, Cell | None, int], bool]
"""The rest of a condition: `(event, last cell of the partial match, time_ms) -> is TRUE`."""


@dataclass(frozen=True, slots=True)
class ResidualSource:
    """What a residual tests: an expression, the steps it names, and the columns of an event."""

    node: Node
    step_names: tuple[str, ...]
    schema: Schema | None


@dataclass(frozen=True, slots=True)
class RuleCondition:
    """One condition of one rule, in two parts that must both hold.

    `event_test` names a test on the event alone, which the caller evaluates (once for all rules
    that use it); `None` if there is none. `residual` is `None` if the event alone decides; `source`
    is there if it is an expression.
    """

    event_test: int | None
    residual: Residual | None
    source: ResidualSource | None = None


@dataclass(frozen=True, slots=True)
class Branch:
    """What an event does in one state for the rules in `rules`.

    `outcome` is `None` where it depends on `residuals`: conditions whose event part holds and whose
    other part must be tested for each partial match; `truth` has the conditions that are certain.
    Where the outcome is just that the event is accepted, `sole_target` and `sole_step` say how;
    else `sole_step` is `NO_EVENT`.
    """

    rules: int
    outcome: RunOutcome | None
    truth: int
    residuals: tuple[int, ...]
    sole_target: int
    sole_step: int


StateTransition = tuple[int, tuple[Branch, ...]]
"""What an event does in one state: the rules it changes anything for, and how, split by rules.

A plain tuple, read for every partial match: `TRANSITION_RULES` and `TRANSITION_BRANCHES` are the
places in it.
"""

TRANSITION_RULES: Final = 0
TRANSITION_BRANCHES: Final = 1

UNCHANGED: StateTransition = (0, ())
"""The transition of a state in which an event changes no partial match."""


class EventTransitions(dict[int, StateTransition]):
    """What one kind of event does in each state.

    Filled on first use. Two events are of one kind when the same event tests hold for them, see
    `TransitionTable.transition` for `truth`. `rules` are those for which it can change a partial
    match that has begun; `start` is how it begins one, `None` if it begins none.
    """

    def __init__(
        self, table: "TransitionTable", truth: tuple[int, ...], starting: int, going_on: int
    ) -> None:
        super().__init__()
        self._table = table
        self._truth = truth
        self.start = _only(self[table.program.start], starting)
        self.rules = 0
        for state in range(len(table.program.states)):
            if table.program.is_waiting(state):
                self.rules |= self[state][TRANSITION_RULES] & going_on

    @property
    def can_concern(self) -> bool:
        """Whether such an event can start a partial match or change any."""
        return self.start is not None or self.rules != 0

    @property
    def concerned(self) -> int:
        """The rules for which it can start a partial match or change one."""
        return self.rules if self.start is None else self.rules | self.start[TRANSITION_RULES]

    def __missing__(self, state: int) -> StateTransition:
        transition = self[state] = self._table.transition(state, self._truth)
        return transition

    def unmoved(self, key: KeyRuns) -> int:
        """Return how many partial matches of a key, from the first on, it does not change."""
        if self.rules & key.rules:
            for position, run in enumerate(key.runs):
                if self[run[RUN_STATE]][TRANSITION_RULES] & run[RUN_RULES]:
                    return position
        return len(key.runs)


class TransitionTable:
    """The conditions of the rules that share a program. Immutable but for its cache.

    `rules` has them per rule in the order of `CompiledPattern.conditions`.
    """

    def __init__(self, program: Program, rules: Sequence[Sequence[RuleCondition]]) -> None:
        self.program = program
        self.rules = tuple(tuple(conditions) for conditions in rules)
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
        self._transitions = BoundedCache(
            self._event_transitions, kinds_capacity(len(self._uses)), _parts
        )

    @property
    def most_residuals(self) -> int:
        """On how many conditions that look at more than the event a state depends at most."""
        residual = sum(1 << number for number, rules in enumerate(self._residual_rules) if rules)
        return max(
            (self._decisions.relevant(state) & residual).bit_count()
            for state in range(len(self.program.states))
        )

    def outcomes(self, state: int, branch: Branch) -> list[RunOutcome]:
        """Return what an event does, by which of the residuals of a branch are TRUE, as bits."""
        found = []
        for choice in range(1 << len(branch.residuals)):
            true = sum(1 << one for bit, one in enumerate(branch.residuals) if choice >> bit & 1)
            found.append(self._decisions.outcome(state, branch.truth | true))
        return found

    def transitions(
        self, true_tests: Iterable[int], starting: int, going_on: int
    ) -> EventTransitions:
        """Return what an event does, given the event tests that hold for it.

        `starting` are the rules that may begin partial matches, `going_on` those that may continue
        some.
        """
        truth = list(self._untested_rules)
        for test in true_tests:
            for condition, rules in self._uses.get(test, ()):
                truth[condition] |= rules
        return self._transitions[tuple(truth), starting, going_on]

    def _event_transitions(self, key: "_KindOfEvent") -> EventTransitions:
        return EventTransitions(self, *key)

    def rules_with(self, test: int) -> int:
        """Return the rules with a condition that a test on the event alone is part of."""
        found = 0
        for _, rules in self._uses.get(test, ()):
            found |= rules
        return found

    def transition(self, state: int, truth: tuple[int, ...]) -> StateTransition:
        """Return what an event does in `state`.

        `truth[i]` is the set of rules for which the event test of condition `i` is TRUE.
        """
        relevant = self._decisions.relevant(state)
        parts: list[tuple[int, int, tuple[int, ...]]] = [(self.all_rules, 0, ())]
        for condition in range(self.program.condition_count):
            if relevant >> condition & 1:
                parts = self._split(parts, condition, truth[condition])
        branches = []
        concerned = 0
        for rules, certain, residuals in parts:
            outcome = None if residuals else self._decisions.outcome(state, certain)
            if outcome is None or not self._is_unchanged(state, outcome):
                target, step = _sole_successor(outcome)
                branches.append(Branch(rules, outcome, certain, residuals, target, step))
                concerned |= rules
        return (concerned, tuple(branches)) if branches else UNCHANGED

    def _is_unchanged(self, state: int, outcome: RunOutcome) -> bool:
        if state == self.program.start:  # no partial match yet: only accepting makes one
            takes = any(step != NO_EVENT for _, step in outcome.successors)
            return not takes and not any(step != NO_EVENT for step in outcome.finished)
        return self._decisions.is_unchanged(state, outcome)

    def _split(
        self, parts: list[tuple[int, int, tuple[int, ...]]], condition: int, accepting: int
    ) -> list[tuple[int, int, tuple[int, ...]]]:
        """Split sets of rules by a condition; its event test is TRUE for the rules `accepting`."""
        split = []
        residual = self._residual_rules[condition]
        for rules, truth, residuals in parts:
            if certain := rules & accepting & ~residual:
                split.append((certain, truth | 1 << condition, residuals))
            if uncertain := rules & accepting & residual:
                split.append((uncertain, truth, (*residuals, condition)))
            if refused := rules & ~accepting:
                split.append((refused, truth, residuals))
        return split

    def test_residuals(
        self, branch: Branch, concerned: int, run: Run, event: Any, time_ms: int
    ) -> Iterable[tuple[RunOutcome, int]]:
        """Test per rule what the event alone does not decide; return the rules by outcome."""
        by_outcome: dict[RunOutcome, int] = {}
        while concerned:
            bit = concerned & -concerned
            concerned ^= bit
            conditions = self.rules[bit.bit_length() - 1]
            truth = branch.truth
            for condition in branch.residuals:
                residual = conditions[condition].residual
                if residual is None or residual(event, run[RUN_CELL], time_ms):
                    truth |= 1 << condition
            outcome = self._decisions.outcome(run[RUN_STATE], truth)
            by_outcome[outcome] = by_outcome.get(outcome, 0) | bit
        return by_outcome.items()


_KindOfEvent = tuple[tuple[int, ...], int, int]
"""What `EventTransitions` is made of, beside the table."""


def kinds_capacity(tests: int) -> int:
    """Return how much is kept of the kinds of events, counted in parts of 300 to 400 bytes.

    Many rules that concern few events each, as one rule per shop, make a few kinds per test on the
    event alone; only tests that are true of the same events make many more, up to one for each set
    of them.
    """
    return 8_192 + 16 * tests


def _parts(_kind: _KindOfEvent, transitions: EventTransitions) -> int:
    return sum(1 + len(branches) for _, branches in transitions.values())


def _only(transition: StateTransition, rules: int) -> StateTransition | None:
    """Return a transition restricted to some rules; `None` if it concerns none of them."""
    concerned, branches = transition
    return (concerned & rules, branches) if concerned & rules else None


def _sole_successor(outcome: RunOutcome | None) -> tuple[int, int]:
    if outcome is None or outcome.finished or len(outcome.successors) != 1:
        return (NO_EVENT, NO_EVENT)
    return outcome.successors[0]

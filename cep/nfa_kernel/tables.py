"""What kinds of events do to a machine, as arrays: computed once for each kind.

Machine, EventTransitions ──MachineTables──► Tables
"""

from collections.abc import Mapping
from typing import Final

import numpy as np

from cep.compiling import table
from cep.condition_code.tables import with_ranks
from cep.nfa.decision import NO_EVENT, RunOutcome
from cep.nfa.machine import Machine
from cep.nfa.program import StateKind
from cep.nfa.transition_table import (
    TRANSITION_BRANCHES,
    TRANSITION_RULES,
    Branch,
    EventTransitions,
)
from cep.nfa_kernel import arrays as at
from cep.nfa_kernel.arrays import ResidualBranches, Tables
from cep.nfa_kernel.residual_code import ResidualCode
from cep.pattern.tree import SkipKind

_MOST_KINDS: Final = 4_096
_SKIPS: Final = {
    SkipKind.NO_SKIP: at.NO_SKIP,
    SkipKind.SKIP_PAST_LAST_EVENT: at.PAST_LAST_EVENT,
    SkipKind.SKIP_TO_NEXT: at.TO_NEXT,
    SkipKind.SKIP_TO_FIRST: at.TO_FIRST,
    SkipKind.SKIP_TO_LAST: at.TO_LAST,
}


class MachineTables:
    """The tables of a machine, which grow as kinds of events come.

    Args:
        machine: one of no more rules than an integer has bits.
        code: what its conditions ask of partial matches.
    """

    def __init__(self, machine: Machine, code: ResidualCode) -> None:
        self._machine = machine
        self._code = code
        self._program = machine.program
        self._tables: Tables | None = None
        self._clear()

    def _clear(self) -> None:
        self._numbers: dict[int, int] = {}
        self._kinds: list[EventTransitions] = []
        """Kept, so that no other object gets the place in memory by which one is known."""
        self._begin: list[int] = []
        self._branches: list[tuple[int, int, int, int, int, int]] = []
        self._uncertain: list[tuple[int, int, int]] = []
        self._conditions: list[int] = []
        self._choices: list[int] = []
        self._outcomes: list[tuple[int, int, int, int]] = []
        self._successors: list[tuple[int, int]] = []
        self._finished: list[int] = []
        self._concerned: list[int] = []
        self._starts: list[tuple[int, int]] = []
        self._add(None)

    def make_room(self, kinds: int) -> None:
        """Forget all kinds, if so many more would be too many."""
        if len(self._kinds) + kinds > _MOST_KINDS:
            self._clear()

    def number(self, kind: EventTransitions) -> int:
        """Return the number of a kind of events; 0 is the kind that does nothing."""
        found = self._numbers.get(id(kind))
        if found is None:
            found = self._numbers[id(kind)] = len(self._starts)
            self._kinds.append(kind)
            self._add(kind)
        return found

    def _add(self, kind: EventTransitions | None) -> None:
        self._tables = None
        start = None if kind is None else kind.start
        self._starts.append((0, 0) if start is None else (1, start[TRANSITION_RULES]))
        for state in range(len(self._program.states)):
            self._begin.append(len(self._branches))
            can_be = state == self._program.start or self._program.is_waiting(state)
            if kind is None or not can_be:
                self._concerned.append(0)
                continue
            transition = kind[state]
            self._concerned.append(transition[TRANSITION_RULES])
            for branch in transition[TRANSITION_BRANCHES]:
                self._add_branch(state, branch)

    def _add_branch(self, state: int, branch: Branch) -> None:
        if branch.outcome is not None:
            of_outcome = self._outcome(branch.outcome)
            self._branches.append((branch.rules, *of_outcome, at.NO_RESIDUAL))
            return
        self._branches.append((branch.rules, 0, 0, 0, 0, len(self._uncertain)))
        begin = len(self._conditions)
        self._conditions += branch.residuals
        self._uncertain.append((begin, len(self._conditions), len(self._choices)))
        known: dict[RunOutcome, int] = {}
        for outcome in self._machine.table.outcomes(state, branch):
            if outcome not in known:
                known[outcome] = len(self._outcomes)
                self._outcomes.append(self._outcome(outcome))
            self._choices.append(known[outcome])

    def _outcome(self, outcome: RunOutcome) -> tuple[int, int, int, int]:
        first, first_end = len(self._successors), len(self._finished)
        self._successors += [(state, _step(step)) for state, step in outcome.successors]
        self._finished += [_step(step) for step in outcome.finished]
        return first, len(self._successors), first_end, len(self._finished)

    def ranked(self, ranks: Mapping[int, int]) -> Tables:
        """Return the tables with the ranks of constant texts in a call; see `with_ranks`."""
        tables = self.tables
        if not ranks:
            return tables
        ranked = tables.residual._replace(tests=with_ranks(tables.residual.tests, ranks))
        return tables._replace(residual=ranked)

    @property
    def tables(self) -> Tables:
        """What is known by now."""
        if self._tables is None:
            skip, limits = self._program.skip, self._machine.limits
            target = -1 if skip.target_step is None else skip.target_step
            self._tables = Tables(
                branch_begin=np.array([*self._begin, len(self._branches)], np.int64),
                branches=table(self._branches, 6),
                successors=table(self._successors, 2),
                finished=np.array(self._finished, np.int64),
                concerned=np.array(self._concerned, np.int64),
                starts=table(self._starts, 2),
                states=table(
                    [
                        (state.previous_window_ms or at.NO_WINDOW, state.kind is StateKind.PENDING)
                        for state in self._program.states
                    ],
                    2,
                ),
                start_state=self._program.start,
                has_previous_windows=any(
                    state.previous_window_ms for state in self._program.states
                ),
                window_ms=self._program.window_ms,
                skip=(_SKIPS[skip.kind], target, skip.throw_on_miss),
                most_held=limits.partial_matches,
                most_events=limits.events,
                rule_count=self._machine.all_rules.bit_length(),
                step_count=1 + max(state.step for state in self._program.states),
                residual=ResidualBranches(
                    branches=table(self._uncertain, 3),
                    conditions=np.array(self._conditions, np.int64),
                    choices=np.array(self._choices, np.int64),
                    outcomes=table(self._outcomes, 4),
                    numbers=self._code.numbers,
                    tests=self._code.tests,
                ),
            )
        return self._tables


def _step(step: int) -> int:
    return at.NO_STEP if step == NO_EVENT else step

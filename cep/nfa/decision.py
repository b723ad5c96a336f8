"""What one event does to a partial match, computed once per state and truth of its conditions.

    Program ──► DecisionTable.outcome(state, truth) ──► machine

What happens depends only on which conditions of the program are TRUE for the event. So the walk
along the epsilon transitions happens once per (state, truth), and matching an event is a look-up.

Source: Flink CEP `NFA.computeNextStates` and `createDecisionGraph`; conformance README, "Processing
an event".
"""

from dataclasses import dataclass
from functools import partial
from typing import Final

from cep.bounded_cache import BoundedCache
from cep.nfa.program import Action, Program, StateKind, Transition, conditions_of, guard_truth

NO_EVENT = -1
"""In place of a step index: the event is not accepted."""
_OUTCOMES_KEPT: Final = 16_384


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """What becomes of one partial match.

    `successors` are `(state, step)` pairs in order of creation; `step` is the step that accepts the
    event, or `NO_EVENT` where the event is ignored. `finished` holds the step, or `NO_EVENT`, of
    each match completed.
    """

    successors: tuple[tuple[int, int], ...]
    finished: tuple[int, ...]


class DecisionTable:
    """The outcomes of one program, computed on first use."""

    def __init__(self, program: Program) -> None:
        self._outcomes = BoundedCache(partial(_decide, program), _OUTCOMES_KEPT)
        self._relevant = tuple(
            _relevant_conditions(program, state) for state in range(len(program.states))
        )

    def relevant(self, state: int) -> int:
        """Return the conditions on which the outcome in this state can depend, as a bit set."""
        return self._relevant[state]

    def outcome(self, state: int, truth: int) -> RunOutcome:
        """Return what an event does in `state`; bit `i` of `truth` = condition `i` is TRUE."""
        return self._outcomes[state, truth & self._relevant[state]]

    def is_unchanged(self, state: int, outcome: RunOutcome) -> bool:
        """Return whether the partial match just stays where it is."""
        return outcome == RunOutcome(((state, NO_EVENT),), ())


def _decide(program: Program, key: tuple[int, int]) -> RunOutcome:
    state, truth = key
    successors: list[tuple[int, int]] = []
    finished: list[int] = []
    stopped = False
    for source, transition in _open_transitions(program, state, truth):
        target = transition.target
        step = program.states[source].step if transition.action is Action.TAKE else NO_EVENT
        kind = program.states[target].kind
        if kind is StateKind.STOP:
            stopped = True
        elif kind is StateKind.FINAL:
            finished.append(step)
        else:
            successors.append((target, step))
            if step != NO_EVENT and _reaches_final(program, target, truth):
                finished.append(step)
    return RunOutcome(() if stopped else tuple(successors), tuple(finished))


def _open_transitions(program: Program, start: int, truth: int) -> list[tuple[int, Transition]]:
    """Collect the take and ignore transitions open from `start`, through epsilon transitions.

    Depth first; the target pushed last is expanded first. A state reached by two ways counts twice,
    as in Flink, but a way never enters the same state twice: a group that may be empty and repeats
    without end has a cycle of epsilon transitions.
    """
    found: list[tuple[int, Transition]] = []
    stack = [(start, frozenset({start}))]
    while stack:
        state, way = stack.pop()
        for transition in program.states[state].transitions:
            if not guard_truth(transition.guard, truth):
                continue
            if transition.action is not Action.PROCEED:
                found.append((state, transition))
            elif transition.target not in way:
                stack.append((transition.target, way | {transition.target}))
    return found


def _reaches_final(program: Program, start: int, truth: int) -> bool:
    seen = {start}
    stack = [start]
    while stack:
        for transition in program.states[stack.pop()].transitions:
            target = transition.target
            if (
                transition.action is Action.PROCEED
                and target not in seen
                and guard_truth(transition.guard, truth)
            ):
                if program.states[target].kind is StateKind.FINAL:
                    return True
                seen.add(target)
                stack.append(target)
    return False


def _relevant_conditions(program: Program, start: int) -> int:
    """The conditions read in `start` and on the epsilon ways from it and from where it may take."""
    reached = _epsilon_closure(program, {start})
    targets = {
        transition.target
        for state in reached
        for transition in program.states[state].transitions
        if transition.action is Action.TAKE
    }
    relevant = 0
    for state in reached:
        for transition in program.states[state].transitions:
            relevant |= conditions_of(transition.guard)
    for state in _epsilon_closure(program, targets):
        for transition in program.states[state].transitions:
            if transition.action is Action.PROCEED:
                relevant |= conditions_of(transition.guard)
    return relevant


def _epsilon_closure(program: Program, starts: set[int]) -> set[int]:
    closure = set(starts)
    stack = list(starts)
    while stack:
        for transition in program.states[stack.pop()].transitions:
            if transition.action is Action.PROCEED and transition.target not in closure:
                closure.add(transition.target)
                stack.append(transition.target)
    return closure

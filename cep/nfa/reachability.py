"""Warns of a pattern that nothing can match, whatever events come.

    pattern ──compiler──► program ──every truth its conditions can have──► states that are reached

A truth is left out only if the conditions prove that no event has it: one follows from the other,
or they exclude each other. So a pattern that can match is never warned of.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from typing import Final

from cep.expression import Expression, Node, resolve
from cep.expression.disjoint import are_disjoint, implies, is_never_true
from cep.expression.evaluation.fold import folded
from cep.expression.tree import And
from cep.nfa.compiler.compile import CompiledPattern, compile_pattern
from cep.nfa.decision import NO_EVENT, DecisionTable
from cep.nfa.program import Program, State, StateKind
from cep.pattern import Pattern
from cep.pattern.problems import Problem
from cep.pattern.tree import AllOf, Condition, PatternTree, Step
from cep.pattern.validation.places import places

_MOST_CONDITIONS: Final = 64
_MOST_STATES: Final = 256
_MOST_OUTCOMES: Final = 4_096
"""A pattern that is larger is not searched: a check must stay fast."""


def warnings_of(pattern: Pattern) -> tuple[Problem, ...]:
    """Return what a valid pattern itself warns of, and whether anything can match it."""
    found = pattern.warnings()
    if pattern.query is not None or any(each.path.endswith(".where") for each in found):
        return found
    return (*found, *_unmatchable_warnings(pattern.tree))


def _unmatchable_warnings(tree: PatternTree) -> tuple[Problem, ...]:
    compiled = compile_pattern(tree)
    is_small = len(compiled.program.states) <= _MOST_STATES
    if not is_small or len(compiled.conditions) > _MOST_CONDITIONS:
        return ()
    known = _Known.of(compiled)
    stuck = _search(compiled.program, known)
    if stuck is None:
        return ()
    negative = [index for index, step in enumerate(tree.steps()) if step.is_negative]
    for index in negative:
        if _search(_without_stop(compiled.program, index), known) is None:
            message = "it forbids every event that the steps around it must take"
            remedy = (
                "Narrow its condition; behind a step that repeats, it also watches the events of "
                "that step from the second one on."
            )
            return (_warning(tree, index, message, remedy),)
    awaited = [
        index
        for index, step in enumerate(tree.steps())
        if index not in stuck and not step.is_negative and not step.is_optional
    ]
    message = "no event can be taken by it at its place"
    remedy = "Compare its condition with until and with the steps that may not come."
    return (_warning(tree, awaited[0] if awaited else 0, message, remedy),)


def _warning(tree: PatternTree, index: int, message: str, remedy: str) -> Problem:
    steps = [place for place in places(tree) if isinstance(place.element, Step)]
    return Problem(steps[index].path, f"nothing can match the pattern: {message}.", remedy)


@dataclass(frozen=True, slots=True)
class _Known:
    """What is sure about the truth of numbered conditions for any one event."""

    never: int
    excluded: tuple[int, ...]
    implied: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, pattern: CompiledPattern) -> "_Known":
        said = [_said(condition, pattern.step_names) for condition in pattern.conditions]
        whole = list(map(_is_sql, pattern.conditions))
        numbered = [(bit, node) for bit, node in enumerate(said) if node is not None]
        return cls(
            sum(1 << bit for bit, node in numbered if is_never_true(node)),
            tuple(
                1 << one | 1 << other
                for (one, left), (other, right) in combinations(numbered, 2)
                if are_disjoint(left, right)
            ),
            tuple(
                (1 << one, 1 << other)
                for (one, left), (other, right) in permutations(numbered, 2)
                if whole[other] and implies(left, right)
            ),
        )

    def truths(self, relevant: int) -> Iterator[int]:
        """Yield every truth that the conditions in a bit set may have together."""
        truth = relevant
        while True:
            if not (
                truth & self.never
                or any(truth & pair == pair for pair in self.excluded)
                or any(
                    truth & one and relevant & other and not truth & other
                    for one, other in self.implied
                )
            ):
                yield truth
            if not truth:
                return
            truth = (truth - 1) & relevant


def _is_sql(condition: Condition) -> bool:
    if isinstance(condition, AllOf):
        return all(map(_is_sql, condition.conditions))
    return isinstance(condition, Expression)


def _said(condition: Condition, names: tuple[str, ...]) -> Node | None:
    """Return what must hold where a condition does; `None` if nothing is known."""
    match condition:
        case Expression():
            return folded(resolve(condition, names))
        case AllOf(conditions=parts):
            found = [node for part in parts if (node := _said(part, names)) is not None]
            return And(tuple(found)) if len(found) > 1 else next(iter(found), None)
        case _:
            return None


def _search(program: Program, known: _Known) -> set[int] | None:
    """Return the steps that can take an event if no match can be complete; `None` if one can."""
    table = DecisionTable(program)
    reached = {program.start}
    waiting = [program.start]
    stepped: set[int] = set()
    outcomes = 0
    while waiting:
        state = waiting.pop()
        outcomes += 1 << table.relevant(state).bit_count()
        if outcomes > _MOST_OUTCOMES:
            return None
        for truth in known.truths(table.relevant(state)):
            outcome = table.outcome(state, truth)
            if outcome.finished:
                return None
            for successor, step in outcome.successors:
                if program.states[successor].kind is StateKind.PENDING:
                    return None
                stepped |= {step} - {NO_EVENT}
                if successor not in reached:
                    reached.add(successor)
                    waiting.append(successor)
    return stepped


def _without_stop(program: Program, step: int) -> Program:
    """Return the program in which the events that a NOT step forbids stop nothing."""
    stops = {
        index
        for index, state in enumerate(program.states)
        if state.kind is StateKind.STOP and state.step == step
    }

    def without(state: State) -> State:
        kept = tuple(each for each in state.transitions if each.target not in stops)
        return replace(state, transitions=kept)

    return replace(program, states=tuple(map(without, program.states)))

"""Clauses that find what a pattern finds: they run as that pattern does, and share its machine.

    BoundClause ──translation──► ClauseProgram: pattern + test of each condition ──► Machine
    last event of a match ──► MatchedRows, of which the clause makes its output

That is exact where each condition looks at its row alone, and nothing asks for rows that are passed
over. Such rows are then not kept. Decision 40 says why.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from cep.bounded_cache import BoundedCache
from cep.expression import Expression, Node
from cep.nfa.compiler.compile import CompiledPattern, compile_pattern
from cep.nfa.runs import CELL_EVENT, CELL_STEP, Cell, accepted_events
from cep.pattern.tree import PatternTree, Step
from cep.row_pattern.bound import BoundClause, Fold, RowOfMatch, ValueAt, references_of
from cep.row_pattern.clause import Clause
from cep.row_pattern.errors import ClauseError
from cep.row_search.matched import MatchedRows, RowOutcome
from cep.row_search.program import RowProgram
from cep.translation.one_way import sequence_of
from cep.translation.refusals import NotExact
from cep.translation.to_pattern import pattern_of


@dataclass(frozen=True, slots=True)
class ClauseProgram:
    """The pattern of a clause.

    `tests` goes with the conditions of the pattern; `variables` has the number of the variable of
    each step.
    """

    pattern: CompiledPattern
    tests: tuple[Node, ...]
    variables: tuple[int, ...]


def clause_program(clause: BoundClause, program: RowProgram) -> ClauseProgram | None:
    """Return the pattern that a clause can run as; `None` if it needs the search for rows."""
    looks_around = program.tracks_every_row or program.keeps_past
    if looks_around or any(condition.residual is not None for condition in program.conditions):
        return None
    if (tree := _trees[clause.clause]) is None:
        return None
    steps = tuple(tree.steps())
    variables = tuple(clause.variables.index(step.name) for step in steps)
    if not _sees_steps_alone(clause, variables) or any(":" in step.name for step in steps):
        return None  # after ":" stands the number of a copy
    tests = program.row_tests
    pattern = compile_pattern(_with_tests(tree, steps, [tests[number] for number in variables]))
    of_conditions = [
        condition.root for condition in pattern.conditions if isinstance(condition, Expression)
    ]
    if len(of_conditions) < len(pattern.conditions):
        return None
    return ClauseProgram(pattern, tuple(of_conditions), variables)


def _tree_of(clause: Clause) -> PatternTree | None:
    try:
        tree = pattern_of(clause)
        # All ways of an open step are partial matches, each with a timeout of its own.
        return tree if sequence_of(tree).open_part is None else None
    except (NotExact, ClauseError):
        return None


_trees = BoundedCache(_tree_of, capacity=4_000_000, size_of=lambda clause, _tree: len(clause.text))
"""The pattern of each clause once per process: that both find the same takes a while to prove."""


def _with_tests(
    tree: PatternTree, steps: Sequence[Step], tests: Sequence[Node | None]
) -> PatternTree:
    """Return a pattern with the conditions as analysis has bound them, which know their types."""
    bound = [
        step
        if step.where is None or test is None
        else replace(step, where=Expression(str(step.where), test))
        for step, test in zip(steps, tests, strict=True)
    ]
    return replace(tree, elements=tuple(bound))


def _sees_steps_alone(clause: BoundClause, variables: Sequence[int]) -> bool:
    """Return whether the output looks at no rows but those that the steps take."""
    passed = frozenset(range(len(clause.variables))) - frozenset(variables)
    if not passed:
        return True
    for _, measure in clause.measures:
        for reference in references_of(measure):
            match reference:
                case Fold(variables=seen) if seen is not None and not seen & passed:
                    continue
                case ValueAt(start=RowOfMatch() as row) if _is_of_step(row, passed):
                    continue
                case _:
                    return False
    return True


def _is_of_step(row: RowOfMatch, passed: frozenset[int]) -> bool:
    """Return whether a row is one that a step takes, as the first and the last of a match are."""
    return not row.offset if row.variables is None else not row.variables & passed


@dataclass(frozen=True, slots=True)
class ClauseMember:
    """A rule that is a clause, among the rules of a machine.

    `variables` has the number of the variable of each step.
    """

    variables: tuple[int, ...]

    def matched_rows(self, cell: Cell, *, is_timeout: bool) -> MatchedRows:
        """Return what has been found as the search for rows would; it numbers no matches."""
        cells = accepted_events(cell)
        rows: tuple[Any, ...] = tuple([each[CELL_EVENT] for each in cells])
        codes = tuple([self.variables[each[CELL_STEP]] << 1 for each in cells])
        return MatchedRows(
            RowOutcome.TIMEOUT if is_timeout else RowOutcome.MATCH, rows, 0, codes, 0, 0
        )

"""A clause made ready to search: its automaton, its conditions, and what follows from them.

    BoundClause ──RowProgram──► states · conditions · memory · how far it looks around

Immutable but for its caches: all partitions of a search share it.

Source: ISO/IEC 19075-5, 4.14, for how many rows a match has at least.
"""

from collections.abc import Sequence
from typing import Any

from cep.expression import FieldReader, Node
from cep.row_pattern.bound import BoundClause, ValueAt, references_of
from cep.row_pattern.clause import (
    Alternation,
    Concatenation,
    Exclusion,
    Permutation,
    Repetition,
    RowPattern,
    RowsPerMatch,
    Variable,
)
from cep.row_search.automaton.instructions import AtStart, compile_pattern
from cep.row_search.automaton.states import State, States
from cep.row_search.conditions import compile_condition
from cep.row_search.memory import Memory, MemoryLayout
from cep.row_search.moves import Moves


class RowProgram:
    """What a search knows of its clause.

    `output_back` and `output_ahead` are how many rows before and after a match its measures ask
    for, `lookback` how many rows before one that is looked at must be kept. `moves` is `None` where
    conditions look at more than their row, or at the variables of rows before it. `beginners` are
    the variables a match can begin with, as bits; 0 where every row brings something. `keeps_past`:
    something of the rows before must be kept without limit; `tracks_every_row`: also rows at which
    nothing is open and nothing can begin count.

    Raises:
        ClauseError: the pattern is too large once its permutations are written out.
    """

    def __init__(self, clause: BoundClause, field_reader: FieldReader) -> None:
        self.clause = clause
        self.within_ms = clause.within_ms
        instructions = compile_pattern(clause.clause.text, clause.pattern, clause.variables)
        self.states = States(instructions)
        self.fewest_rows = _fewest_rows(clause.pattern)
        self.layout = MemoryLayout(clause.conditions, clause.variables, field_reader)
        self.conditions = [
            compile_condition(condition, clause.variables, self.layout, field_reader)
            for condition in clause.conditions
        ]
        self.sees_path = any(condition.sees_path for condition in self.conditions)
        states_decide = not self.layout.items and not self.sees_path
        self.moves = Moves(self.states) if states_decide else None
        shifts = [
            reference.shift
            for _, measure in clause.measures
            for reference in references_of(measure)
            if isinstance(reference, ValueAt)
        ]
        self.output_ahead = max([0, *shifts])
        self.output_back = -min([0, *shifts])
        self.lookback = clause.rows_before
        self.lookaheads = [condition.lookahead for condition in self.conditions]
        self.has_lookahead = any(self.lookaheads)
        first = {step.variable for step in self.states.initial(is_first_row=False).steps}
        self._first = sum(1 << variable for variable in first)
        starts_anchored = any(isinstance(i, AtStart) for i in instructions.code)
        outputs_every_row = (
            self.states.initial(is_first_row=True).accepts
            or clause.rows_per_match is RowsPerMatch.WITH_UNMATCHED
        )
        may_skip = not (outputs_every_row or starts_anchored)
        self.beginners = self._first if may_skip else 0
        self.keeps_past = (
            self.lookback > 0 or starts_anchored or outputs_every_row or clause.reads_match_number
        )
        self.tracks_every_row = (
            self.lookback > 0
            or starts_anchored
            or outputs_every_row
            or self.output_ahead > 0
            or any(self.lookaheads)
        )
        self._live: dict[frozenset[int], tuple[int, ...] | None] = {}

    @property
    def row_tests(self) -> list[Node | None]:
        """What a row alone decides of each variable; `None` = nothing."""
        return [condition.row_test for condition in self.conditions]

    def row_bits(self, passed: Sequence[bool]) -> tuple[int, int]:
        """Return `known` and `true` of a row that passes the tests of some variables.

        A variable without a test counts as passed.
        """
        known = true = 0
        for variable, (condition, holds) in enumerate(zip(self.conditions, passed, strict=True)):
            if not holds or condition.residual is None:
                known |= 1 << variable
                true |= holds << variable
        return known, true

    def can_begin(self, known: int, true: int) -> bool:
        """Return whether a match may begin at a row of which that much is known."""
        return (true | ~known) & self._first != 0

    def future(self, state: State, memory: Memory) -> Any:
        """Return what decides everything that can become of a candidate.

        Of two that are equal in this only the preferred one can become the match: the same rows
        will be accepted by both, in the same ways. Where a condition can ask for the variable of
        any row, nothing equals it.
        """
        if self.sees_path:
            return object()
        if not memory:
            return state
        live = self._live_items(state.variables)
        return (state, memory if live is None else tuple(memory[item] for item in live))

    def _live_items(self, variables: frozenset[int]) -> tuple[int, ...] | None:
        """Return the items that conditions of these variables read; `None` = all of them."""
        if variables not in self._live:
            read = frozenset[int]().union(*(self.layout.of_condition[v] for v in variables))
            is_all = len(read) == len(self.layout.items)
            self._live[variables] = None if is_all else tuple(sorted(read))
        return self._live[variables]


def _fewest_rows(pattern: RowPattern) -> int:
    """Return how many rows the shortest match of a pattern has; anchors are ignored."""
    match pattern:
        case Variable():
            return 1
        case Concatenation(parts=parts) | Permutation(parts=parts):
            return sum(map(_fewest_rows, parts))
        case Alternation(alternatives=alternatives):
            return min(map(_fewest_rows, alternatives))
        case Exclusion(inner=inner):
            return _fewest_rows(inner)
        case Repetition(inner=inner, minimum=minimum):
            return minimum * _fewest_rows(inner)
        case _:
            return 0

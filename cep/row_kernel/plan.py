"""A clause made ready for the compiled search, where it can be.

RowProgram ──plan_of──► SearchPlan: columns for polars, and a Program without its texts
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from cep.compiling import MOST_BITS, table
from cep.condition_code.expression_code import Code, CodeWriter
from cep.condition_code.operands import NotCompilable, Operands
from cep.condition_code.tables import bits_of, code_tables, with_ranks
from cep.expression import Aggregate, Schema
from cep.nfa.errors import LimitExceeded
from cep.row_kernel.arrays import Program
from cep.row_pattern.bound import BoundReference
from cep.row_pattern.clause import RowsPerMatch, SkipTo
from cep.row_search.program import RowProgram
from cep.row_search.row_values import slot_of_reference

_MOST_STATES: Final = 2_000
_MOST_WALKED: Final = 200_000
"""How many places of the pattern may be looked at to find its states."""
_SKIPS: Final = {SkipTo.PAST_LAST_ROW: -1, SkipTo.NEXT_ROW: -2}


@dataclass(frozen=True, slots=True, eq=False)
class SearchPlan:
    """What the search of a clause needs: what polars works out, and what runs."""

    operands: Operands
    program: Program

    def ranked(self, ranks: Mapping[int, int]) -> Program:
        """Return the program with the rank of each constant text, by its place in `ints`."""
        if not ranks:
            return self.program
        return self.program._replace(tests=with_ranks(self.program.tests, ranks))


def plan_of(program: RowProgram, schema: Schema) -> SearchPlan | None:
    """Return the plan of a clause; `None` if it has something the compiled search does not know."""
    try:
        return _plan(program, schema)
    except (NotCompilable, LimitExceeded):
        return None


def _plan(program: RowProgram, schema: Schema) -> SearchPlan:
    clause = program.clause
    if clause.rows_per_match is RowsPerMatch.WITH_UNMATCHED or program.sees_path:
        raise NotCompilable("rows without a match")
    if len(clause.variables) > MOST_BITS:
        raise NotCompilable("too many variables")
    operands = Operands(schema)
    codes: list[Code] = []
    for condition, compiled in zip(clause.conditions, program.conditions, strict=True):
        if condition is None or compiled.rest is None:
            codes.append(())
        else:
            writer = CodeWriter(partial(_reference, condition.references), operands)
            codes.append(writer.condition(compiled.rest).code)
    are_of_row = [condition.is_of_row for condition in program.conditions]
    states, steps = _automaton(program)
    ready = Program(
        states=table(states, 2),
        steps=table(steps, 3),
        initial=0,
        initial_of_first_row=1,
        tests=code_tables(operands, codes),
        are_of_row=np.array(are_of_row, np.bool_),
        within_ms=-1 if clause.within_ms is None else clause.within_ms,
        skip=_SKIPS.get(clause.skip_to, bits_of(clause.skip_variables or frozenset())),
        skip_is_first=clause.skip_to is SkipTo.FIRST,
        fewest_rows=program.fewest_rows,
        output_ahead=program.output_ahead,
        has_memory=not all(are_of_row),
    )
    return SearchPlan(operands, ready)


def _reference(references: tuple[BoundReference, ...], aggregate: Aggregate) -> BoundReference:
    return references[slot_of_reference(aggregate)]


def _automaton(program: RowProgram) -> tuple[list[tuple[int, int]], list[tuple[int, int, int]]]:
    """Return states and steps; states 0 and 1 are the first ones."""
    states = [program.states.initial(is_first_row=is_first) for is_first in (False, True)]
    numbers = {id(state): number for number, state in enumerate(states)}
    table: list[tuple[int, int]] = []
    steps: list[tuple[int, int, int]] = []
    walked = 0
    for state in states:  # grows on the way
        if state.awaits_end:
            raise NotCompilable("$")
        table.append((len(steps), state.accepts))
        for step in state.steps:
            target = program.states.at(step.place)
            walked += program.states.walked(step.place)
            if walked > _MOST_WALKED:
                raise NotCompilable("too large a pattern")
            if id(target) not in numbers:
                if len(states) == _MOST_STATES:
                    raise NotCompilable("too many states")
                numbers[id(target)] = len(states)
                states.append(target)
            steps.append((step.variable, step.code, numbers[id(target)]))
    return [*table, (len(steps), 0)], steps

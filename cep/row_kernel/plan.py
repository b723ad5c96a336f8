"""A clause made ready for the compiled search, where it can be.

RowProgram ──plan_of──► SearchPlan: columns for polars, and a Program without its texts
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from cep.compiling import MOST_BITS, table
from cep.expression import Schema
from cep.nfa.errors import LimitExceeded
from cep.row_kernel.arrays import Items, Program
from cep.row_kernel.expression_code import Code, CodeWriter
from cep.row_kernel.operands import KernelFold, KernelValue, NotCompilable, Operands
from cep.row_pattern.bound import RowOfMatch, Variables
from cep.row_pattern.clause import RowsPerMatch, SkipTo
from cep.row_search.program import RowProgram

"""Variables are bits of one integer."""
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
        ints = self.program.ints.copy()
        ints[list(ranks)] = list(ranks.values())
        return self.program._replace(ints=ints)


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
            codes.append(CodeWriter(condition.references, operands).condition(compiled.rest).code)
    begins = np.cumsum([0, *map(len, codes)]).tolist()
    of_row = [*(condition.is_of_row for condition in program.conditions), False]
    states, steps = _automaton(program)
    ready = Program(
        states=table(states, 2),
        steps=table(steps, 3),
        initial=0,
        initial_of_first_row=1,
        items=items_of(operands.items, operands.folds),
        values=table([_value(value, operands) for value in operands.values], 3),
        conditions=table(list(zip(begins, of_row, strict=True)), 2),
        code=table([part for code in codes for part in code], 2),
        ints=np.array(operands.ints, np.int64),
        floats=np.array(operands.floats, np.float64),
        within_ms=-1 if clause.within_ms is None else clause.within_ms,
        skip=_SKIPS.get(clause.skip_to, _bits(clause.skip_variables or frozenset())),
        skip_is_first=clause.skip_to is SkipTo.FIRST,
        fewest_rows=program.fewest_rows,
        output_ahead=program.output_ahead,
        has_memory=not all(condition.is_of_row for condition in program.conditions),
    )
    return SearchPlan(operands, ready)


def items_of(rows: Iterable[RowOfMatch], folds: Iterable[KernelFold]) -> Items:
    """Return what is remembered of a candidate, as arrays."""
    return Items(
        table([(_bits(row.variables), row.is_first, row.offset) for row in rows], 3),
        table([(_bits(fold.variables), fold.function, fold.column) for fold in folds], 3),
    )


def _bits(variables: Variables) -> int:
    return -1 if variables is None else sum(1 << variable for variable in variables)


def _value(value: KernelValue, operands: Operands) -> tuple[int, int, int]:
    item = -1 if value.item is None else operands.items[value.item]
    return item, value.shift, value.column


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

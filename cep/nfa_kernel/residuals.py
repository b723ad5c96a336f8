"""Compiled: conditions on earlier events, tested of partial matches.

    new cells ──remember_cells──► memory, a row for each ──split_by_tests──► rules by outcome

A row of the memory is what the partial match up to a cell remembers; row 0 is that of the partial
match without events.

Source: `cep.nfa.transition_table.TransitionTable.test_residuals`, whose meaning it has.
"""

from typing import Final

from cep.compiling import Ints, in_caller
from cep.condition_code.arrays import Candidate, Columns, Items, Memory, Stack
from cep.condition_code.memory import remember
from cep.condition_code.stack_machine import NOT_TRUE, TRUE, holds
from cep.nfa_kernel import arrays as at
from cep.nfa_kernel.arrays import ResidualBranches

GAVE_UP: Final = -1
_NO_END: Final = 2**62


@in_caller
def remember_cells(  # noqa: PLR0913, PLR0917 - compiled code takes arguments by place
    items: Items, columns: Columns, memory: Memory, cells: Ints, first: int, end: int, behind: int
) -> bool:
    """Write the memory of some cells; return whether it could.

    Args:
        items: what is remembered.
        columns: what conditions read of events.
        memory: room.
        cells: the cells.
        first: the first of those that have no memory yet.
        end: after the last one.
        behind: by how much the numbers of their events are behind their rows.
    """
    could = True
    for cell in range(first, end):
        before, step = cells[cell, at.CELL_PREVIOUS] + 1, cells[cell, at.CELL_STEP]
        row = cells[cell, at.CELL_EVENT] - behind
        fits = remember(items, columns, memory, before, cell + 1, step, row)
        could = could and fits
    return could


@in_caller
def split_by_tests(  # noqa: PLR0913, PLR0917 - compiled code takes arguments by place
    residual: ResidualBranches,
    columns: Columns,
    memory: Memory,
    stack: Stack,
    branch: int,
    rules: int,
    row: int,
    cell: int,
    agreeing: Ints,
) -> int:
    """Test an event for a partial match; return by how many outcomes rules split, or `GAVE_UP`.

    Args:
        residual: the branches and their conditions.
        columns: what conditions read of events.
        memory: what cells remember.
        stack: room.
        branch: the number of the uncertain branch.
        rules: those that it concerns.
        row: that of the event.
        cell: the last cell of the partial match.
        agreeing: outcome, rules; written in the order in which Python meets the outcomes.
    """
    branches = residual.branches
    first, end, first_choice = branches[branch, 0], branches[branch, 1], branches[branch, 2]
    candidate = Candidate(0, cell + 1, 0, _NO_END, True, 0)  # noqa: FBT003 - by place
    count, rule = 0, 0
    while rules:
        if rules & 1:
            choice = 0
            for place in range(first, end):
                condition = residual.numbers[rule, residual.conditions[place]]
                holding = holds(residual.tests, columns, memory, stack, condition, row, candidate)
                if holding < NOT_TRUE:
                    return GAVE_UP
                if holding == TRUE:
                    choice |= 1 << (place - first)
            outcome = residual.choices[first_choice + choice]
            group = 0
            while group < count and agreeing[group, 0] != outcome:
                group += 1
            if group == count:
                agreeing[count, 0], agreeing[count, 1] = outcome, 0
                count += 1
            agreeing[group, 1] |= 1 << rule
        rules >>= 1
        rule += 1
    return count

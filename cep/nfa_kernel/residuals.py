"""Compiled: conditions on earlier events, tested of partial matches.

    new cells ──remember_cells──► memory, a row for each ──split_by_tests──► rules by outcome

A row of the memory is what the partial match up to a cell remembers; row 0 is that of the partial
match without events.

Source: `cep.nfa.transition_table.TransitionTable.test_residuals`, whose meaning it has.
"""

from typing import Final

from cep.compiling import Floats, Ints, in_caller, inlined
from cep.condition_code.arrays import Flags
from cep.condition_code.memory import remember
from cep.condition_code.stack_machine import NOT_TRUE, TRUE, holds
from cep.nfa_kernel import arrays as at

GAVE_UP: Final = -1
_NO_END: Final = 2**62


@in_caller
def remember_cells(  # noqa: PLR0913, PLR0917 - compiled code takes arguments by place
    row_items: Ints,
    folds: Ints,
    ints: Ints,
    int_nulls: Flags,
    floats: Floats,
    float_nulls: Flags,
    memory: Ints,
    reals: Floats,
    cells: Ints,
    first: int,
    end: int,
    behind: int,
) -> bool:
    """Write the memory of some cells; return whether it could.

    Args:
        row_items: see `cep.condition_code.arrays.Items`.
        folds: see there.
        ints: what conditions read of events, by column and row.
        int_nulls: where it is NULL.
        floats: as `ints`.
        float_nulls: where it is NULL.
        memory: see `cep.condition_code.memory`; it has room.
        reals: its floats.
        cells: the cells.
        first: the first of those that have no memory yet.
        end: after the last one.
        behind: by how much the numbers of their events are behind their rows.
    """
    could = True
    for cell in range(first, end):
        fits = remember(
            row_items,
            folds,
            ints,
            int_nulls,
            floats,
            float_nulls,
            memory,
            reals,
            cells[cell, at.CELL_PREVIOUS] + 1,
            cell + 1,
            cells[cell, at.CELL_STEP],
            cells[cell, at.CELL_EVENT] - behind,
        )
        could = could and fits
    return could


@inlined
def split_by_tests(  # noqa: PLR0913, PLR0917 - compiled code takes arguments by place
    uncertain: Ints,
    conditions: Ints,
    choices: Ints,
    numbers: Ints,
    begins: Ints,
    code: Ints,
    int_constants: Ints,
    float_constants: Floats,
    values: Ints,
    row_items: Ints,
    folds: Ints,
    ints: Ints,
    int_nulls: Flags,
    floats: Floats,
    float_nulls: Flags,
    memory: Ints,
    reals: Floats,
    int_stack: Ints,
    float_stack: Floats,
    null_stack: Flags,
    branch: int,
    rules: int,
    event: int,
    cell: int,
    agreeing: Ints,
) -> int:
    """Test an event for a partial match; return by how many outcomes rules split, or `GAVE_UP`.

    Args:
        uncertain: up to `numbers` see `ResidualBranches`.
        conditions: see there.
        choices: see there.
        numbers: see there.
        begins: up to `values` see `cep.condition_code.arrays.CodeTables`.
        code: see there.
        int_constants: see there.
        float_constants: see there.
        values: see there.
        row_items: up to `reals` see `remember_cells`.
        folds: see there.
        ints: see there.
        int_nulls: see there.
        floats: see there.
        float_nulls: see there.
        memory: see there.
        reals: see there.
        int_stack: room, as `float_stack` and `null_stack`.
        float_stack: room.
        null_stack: room.
        branch: the number of the uncertain branch.
        rules: those that it concerns.
        event: the row of the event.
        cell: the last cell of the partial match.
        agreeing: outcome, rules; written in the order in which Python meets the outcomes.
    """
    first, end, first_choice = uncertain[branch, 0], uncertain[branch, 1], uncertain[branch, 2]
    count, rule = 0, 0
    while rules:
        if rules & 1:
            choice = 0
            for place in range(first, end):
                holding = holds(
                    begins,
                    code,
                    int_constants,
                    float_constants,
                    values,
                    row_items,
                    folds,
                    ints,
                    int_nulls,
                    floats,
                    float_nulls,
                    memory,
                    reals,
                    int_stack,
                    float_stack,
                    null_stack,
                    numbers[rule, conditions[place]],
                    event,
                    0,
                    cell + 1,
                    0,
                    _NO_END,
                    True,  # noqa: FBT003 - by place
                    0,
                )
                if holding < NOT_TRUE:
                    return GAVE_UP
                if holding == TRUE:
                    choice |= 1 << (place - first)
            outcome = choices[first_choice + choice]
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

"""Compiled: what a candidate remembers of its rows for the conditions to come.

Two arrays by place. In a search over rows that is the depth, the number of rows the candidate has,
so that going back forgets by itself; in a machine each accepted event has a place of its own.
Whole numbers, in this order: of each rows item the row it has found (-1 = none yet), then how many
rows it has seen; of each aggregate its value, then how many values it has. Floats: of each
aggregate its value.

Source: `cep.row_search.memory`; `cep.nfa.conditions.Aggregates`.
"""

from typing import Final

import numpy as np

from cep.compiling import compiled, in_caller, inlined
from cep.condition_code import opcodes as op
from cep.condition_code.arrays import Columns, Items, Memory

_MIN: Final = -(2**63)
_MAX: Final = 2**63 - 1
_EXACT: Final = 2**53


@compiled
def new_memory(places: int, items: int, folds: int) -> Memory:
    """Return room for so many places; in each, nothing is remembered."""
    whole = np.zeros((places, 2 * (items + folds)), np.int64)
    whole[:, :items] = -1
    return Memory(whole, np.zeros((places, folds), np.float64))


@inlined
def order_of(left: float, right: float) -> int:
    """Return -1, 0 or 1; NaN equals itself and is the greatest."""
    if left < right:
        return -1
    if left > right:
        return 1
    if left == right:
        return 0
    return int(left != left) - int(right != right)  # noqa: PLR0124 - only NaN differs from itself


@inlined
def sum_overflows(left: int, right: int) -> bool:
    """Return whether a sum is beyond 64 bits."""
    return (right > 0 and left > _MAX - right) or (right < 0 and left < _MIN - right)


@in_caller
def remember(  # noqa: PLR0913, PLR0917 - compiled code takes arguments by place
    items: Items,
    columns: Columns,
    memory: Memory,
    before: int,
    after: int,
    variable: int,
    row: int,
) -> bool:
    """Write the memory at the place `after`: that at `before`, and a row taken as a variable.

    Returns whether it could: a sum may be too large.
    """
    bit = np.int64(1) << variable
    rows, whole = items.rows, memory.whole
    row_count, fold_count = rows.shape[0], items.folds.shape[0]
    for item in range(row_count):
        found, count = whole[before, item], whole[before, row_count + item]
        if rows[item, 0] & bit:
            if rows[item, 1] == 0 or count == rows[item, 2]:
                found = row
            count += 1
        whole[after, item] = found
        whole[after, row_count + item] = count
    fits = True
    for fold in range(fold_count):
        at = 2 * row_count + fold
        total, count, real = (
            whole[before, at],
            whole[before, at + fold_count],
            memory.reals[before, fold],
        )
        if items.folds[fold, 0] & bit:
            total, count, real, could = _fold(
                columns, items.folds[fold, 1], items.folds[fold, 2], row, total, count, real
            )
            fits = fits and could
        whole[after, at] = total
        whole[after, at + fold_count] = count
        memory.reals[after, fold] = real
    return fits


@in_caller
def _fold(  # noqa: C901, PLR0912, PLR0913, PLR0917 - one branch per function
    columns: Columns, function: int, column: int, row: int, total: int, count: int, real: float
) -> tuple[int, int, float, bool]:
    """Return an aggregate with one more row: integer, count, float; whether the sum fits."""
    fits = True
    if function == op.COUNT:
        if column < 0 or not columns.int_nulls[column, row]:
            count += 1
    elif function == op.COUNT_FLOAT:
        if not columns.float_nulls[column, row]:
            count += 1
    elif function <= op.AVERAGE_INT:
        if not columns.int_nulls[column, row]:
            value = columns.ints[column, row]
            if count == 0:
                total = value
            elif function == op.MIN_INT:
                total = min(total, value)
            elif function == op.MAX_INT:
                total = max(total, value)
            else:
                fits = not sum_overflows(total, value)
                total += value
            count += 1
    elif not columns.float_nulls[column, row]:
        number = columns.floats[column, row]
        if count == 0:
            real = number
        elif function == op.MIN_FLOAT:
            real = number if order_of(number, real) < 0 else real
        elif function == op.MAX_FLOAT:
            real = number if order_of(real, number) < 0 else real
        else:
            real += number
        count += 1
    return total, count, real, fits


@in_caller
def remembered_row(items: Items, memory: Memory, place: int, start: int, item: int) -> int:
    """Return the row that an item asks for; -1 = none.

    Counted back further than the last one, places are depths, and `start` is the first row.
    """
    found: int = memory.whole[place, item]
    if items.rows[item, 1] == 0:
        for _ in range(items.rows[item, 2]):
            if found >= 0:
                found = memory.whole[found - start, item]
    return found


@in_caller
def fold_result(
    items: Items, memory: Memory, place: int, fold: int
) -> tuple[int, float, bool, bool]:
    """Return the value of an aggregate: as integer, as float, whether NULL; whether it could."""
    at = 2 * items.rows.shape[0] + fold
    function = items.folds[fold, 1]
    total, count = memory.whole[place, at], memory.whole[place, at + items.folds.shape[0]]
    real = memory.reals[place, fold]
    is_null, could = count == 0, True
    if function in (op.COUNT, op.COUNT_FLOAT):
        total, is_null = count, False
    elif not is_null and function == op.AVERAGE_INT:
        # Beyond that two roundings may differ from one.
        could = -_EXACT <= total <= _EXACT
        real = total / count
    elif not is_null and function == op.AVERAGE_FLOAT:
        real /= count
    return total, real, is_null, could

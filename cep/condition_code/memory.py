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

from cep.compiling import Floats, Ints, compiled, inlined
from cep.condition_code import opcodes as op
from cep.condition_code.arrays import Flags

_MIN: Final = -(2**63)
_MAX: Final = 2**63 - 1
_EXACT: Final = 2**53


@compiled
def new_memory(places: int, items: int, folds: int) -> tuple[Ints, Floats]:
    """Return room for so many places; in each, nothing is remembered."""
    memory = np.zeros((places, 2 * (items + folds)), np.int64)
    memory[:, :items] = -1
    return memory, np.zeros((places, folds), np.float64)


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


@inlined
def remember(  # noqa: C901, PLR0912, PLR0913, PLR0917 - compiled into the inner loop
    row_items: Ints,
    folds: Ints,
    ints: Ints,
    int_nulls: Flags,
    floats: Floats,
    float_nulls: Flags,
    memory: Ints,
    reals: Floats,
    before: int,
    after: int,
    variable: int,
    row: int,
) -> bool:
    """Write the memory at the place `after`: that at `before`, and a row taken as a variable.

    Returns whether it could: a sum may be too large.
    """
    bit = np.int64(1) << variable
    kept, folded = row_items.shape[0], folds.shape[0]
    for item in range(kept):
        found, count = memory[before, item], memory[before, kept + item]
        if row_items[item, 0] & bit:
            if row_items[item, 1] == 0 or count == row_items[item, 2]:
                found = row
            count += 1
        memory[after, item] = found
        memory[after, kept + item] = count
    fits = True
    for fold in range(folded):
        at = 2 * kept + fold
        total, count, real = memory[before, at], memory[before, at + folded], reals[before, fold]
        if folds[fold, 0] & bit:
            function, column = folds[fold, 1], folds[fold, 2]
            if function == op.COUNT:
                if column < 0 or not int_nulls[column, row]:
                    count += 1
            elif function == op.COUNT_FLOAT:
                if not float_nulls[column, row]:
                    count += 1
            elif function <= op.AVERAGE_INT:
                if not int_nulls[column, row]:
                    value = ints[column, row]
                    if count == 0:
                        total = value
                    elif function == op.MIN_INT:
                        total = min(total, value)
                    elif function == op.MAX_INT:
                        total = max(total, value)
                    else:
                        fits = fits and not sum_overflows(total, value)
                        total += value
                    count += 1
            elif not float_nulls[column, row]:
                number = floats[column, row]
                if count == 0:
                    real = number
                elif function == op.MIN_FLOAT:
                    real = number if order_of(number, real) < 0 else real
                elif function == op.MAX_FLOAT:
                    real = number if order_of(real, number) < 0 else real
                else:
                    real += number
                count += 1
        memory[after, at] = total
        memory[after, at + folded] = count
        reals[after, fold] = real
    return fits


@inlined
def remembered_row(row_items: Ints, memory: Ints, place: int, start: int, item: int) -> int:
    """Return the row that an item asks for; -1 = none.

    Counted back further than the last one, places are depths, and `start` is the first row.
    """
    found: int = memory[place, item]
    if row_items[item, 1] == 0:
        for _ in range(row_items[item, 2]):
            if found >= 0:
                found = memory[found - start, item]
    return found


@inlined
def fold_result(  # noqa: PLR0913, PLR0917 - compiled into the inner loop
    row_items: Ints, folds: Ints, memory: Ints, reals: Floats, place: int, fold: int
) -> tuple[int, float, bool, bool]:
    """Return the value of an aggregate: as integer, as float, whether NULL; whether it could."""
    at = 2 * row_items.shape[0] + fold
    function = folds[fold, 1]
    total, count, real = memory[place, at], memory[place, at + folds.shape[0]], reals[place, fold]
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

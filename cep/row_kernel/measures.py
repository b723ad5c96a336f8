"""Compiled: what the measures of matches read: rows by their place in the match, and aggregates.

Matches ──walk along the codes──► row per match and item · value per match and aggregate
"""

from typing import NamedTuple

import numpy as np

from cep.compiling import Floats, Ints, compiled
from cep.condition_code.arrays import Flags, Items
from cep.condition_code.memory import fold_result, new_memory, remember, remembered_row
from cep.row_kernel.arrays import Matches, Rows


class Measured(NamedTuple):
    """By item, then match. `rows`: -1 = there is none; `could`: whether all could be computed."""

    rows: Ints
    ints: Ints
    floats: Floats
    nulls: Flags
    could: bool


@compiled
def measure(items: Items, rows: Rows, matches: Matches) -> Measured:
    """Return what items say of each match, all of its rows taken."""
    row_items, folds = items.rows, items.folds
    ints, int_nulls = rows.ints, rows.int_nulls
    floats, float_nulls = rows.floats, rows.float_nulls
    first_rows, lengths, codes = matches.first_row, matches.length, matches.codes
    count = len(first_rows)
    longest = 0
    for match in range(count):
        longest = max(longest, lengths[match])
    memory, reals = new_memory(longest + 1, len(row_items), len(folds))
    found_rows = np.empty((len(row_items), count), np.int64)
    found_ints = np.empty((len(folds), count), np.int64)
    found_floats = np.empty((len(folds), count), np.float64)
    found_nulls = np.empty((len(folds), count), np.bool_)
    could = True
    coded = 0
    for match in range(count):
        start, length = first_rows[match], lengths[match]
        for depth in range(length):
            fits = remember(
                row_items,
                folds,
                ints,
                int_nulls,
                floats,
                float_nulls,
                memory,
                reals,
                depth,
                depth + 1,
                codes[coded + depth] >> 1,
                start + depth,
            )
            could = could and fits
        coded += length
        for item in range(len(row_items)):
            found_rows[item, match] = remembered_row(row_items, memory, length, start, item)
        for fold in range(len(folds)):
            whole, real, is_null, fits = fold_result(row_items, folds, memory, reals, length, fold)
            could = could and fits
            found_ints[fold, match], found_floats[fold, match] = whole, real
            found_nulls[fold, match] = is_null
    return Measured(found_rows, found_ints, found_floats, found_nulls, could)

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
    first_rows, lengths, codes = matches.first_row, matches.length, matches.codes
    count = len(first_rows)
    longest = 0
    for match in range(count):
        longest = max(longest, lengths[match])
    row_count, fold_count = len(items.rows), len(items.folds)
    memory = new_memory(longest + 1, row_count, fold_count)
    found_rows = np.empty((row_count, count), np.int64)
    found_ints = np.empty((fold_count, count), np.int64)
    found_floats = np.empty((fold_count, count), np.float64)
    found_nulls = np.empty((fold_count, count), np.bool_)
    columns, could, coded = rows.columns, True, 0
    for match in range(count):
        start, length = first_rows[match], lengths[match]
        for depth in range(length):
            variable = codes[coded + depth] >> 1
            fits = remember(items, columns, memory, depth, depth + 1, variable, start + depth)
            could = could and fits
        coded += length
        for item in range(row_count):
            found_rows[item, match] = remembered_row(items, memory, length, start, item)
        for fold in range(fold_count):
            whole, real, is_null, fits = fold_result(items, memory, length, fold)
            could = could and fits
            found_ints[fold, match], found_floats[fold, match] = whole, real
            found_nulls[fold, match] = is_null
    return Measured(found_rows, found_ints, found_floats, found_nulls, could)

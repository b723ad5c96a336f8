"""What the compiled test of conditions is given: plain arrays in named tuples.

Numbers are `int64`. Arrays of several columns are `[row, column]`, so that what is read together
stands together. Compiled functions that count no uses of arrays (`in_place`, `in_caller`) take an
array out of a tuple for nothing; others take it out once, before their loops.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cep.compiling import Floats, Ints

Flags = NDArray[np.bool_]


class Items(NamedTuple):
    """What a candidate remembers: rows of some variables, and aggregates.

    Variables, or the steps of a pattern, are bits. `rows`: variables, whether the first rows are
    counted, offset. `folds`: variables, function, the column that is folded (-1: rows are counted).
    """

    rows: Ints
    folds: Ints


class CodeTables(NamedTuple):
    """Conditions and what they read.

    Args:
        items: what candidates remember.
        values: columns at other rows: the rows item they start from (-1: the row under test), the
            shift, the column.
        begin: by condition, where its code begins (none = always true); one more at the end.
        code: operation, argument.
        ints: constants.
        floats: constants.
    """

    items: Items
    values: Ints
    begin: Ints
    code: Ints
    ints: Ints
    floats: Floats


class Columns(NamedTuple):
    """What conditions read of rows: columns by number, then row, and where they are NULL."""

    ints: Ints
    int_nulls: Flags
    floats: Floats
    float_nulls: Flags


class Memory(NamedTuple):
    """What candidates remember, by place; see `cep.condition_code.memory` for the columns."""

    whole: Ints
    reals: Floats


class Stack(NamedTuple):
    """Room for the values of a condition; which of the first two holds one, its operation knows."""

    ints: Ints
    floats: Floats
    nulls: Flags


class Candidate(NamedTuple):
    """What a row is tested for.

    Args:
        start: the first row.
        place: of the memory.
        begin: the first row of the partition.
        end: after the last one.
        is_ended: whether no row comes after.
        number: of the match, from 1.
    """

    start: int
    place: int
    begin: int
    end: int
    is_ended: bool
    number: int

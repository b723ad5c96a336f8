"""What the compiled test of conditions is given: plain arrays in named tuples.

Numbers are `int64`. Arrays of several columns are `[row, column]`, so that what is read together
stands together; compiled functions take them one by one, as taking one out of a tuple costs more
than most of what is done with it.
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

"""Arrays of compiled code: `int64`, several columns as `[row, column]`."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

MOST_BITS: Final = 62
"""So many rules or variables fit into a number as bits, with one to spare for its sign."""


def in_one_piece(numbers: Ints) -> Ints:
    """Return numbers as an array that may be written to, without gaps; a copy if it is not one.

    For any other sort of array compiled code is compiled again, where it is called: in a batch.
    """
    return np.require(numbers, np.int64, ["C_CONTIGUOUS", "WRITEABLE"])


def table(rows: Sequence[tuple[int, ...]], width: int) -> Ints:
    """Return rows of as many columns as an array."""
    return np.array(rows, np.int64).reshape(-1, width)

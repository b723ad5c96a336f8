"""Arrays of compiled code: `int64`, several columns as `[row, column]`."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

MOST_BITS: Final = 62
"""So many rules or variables fit into a number as bits, with one to spare for its sign."""


def table(rows: Sequence[tuple[int, ...]], width: int) -> Ints:
    """Return rows of as many columns as an array."""
    return np.array(rows, np.int64).reshape(-1, width)

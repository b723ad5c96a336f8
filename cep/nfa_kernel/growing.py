"""Compiled: arrays that grow as lists do."""

import numpy as np

from cep.compiling import compiled
from cep.nfa_kernel.arrays import Ints


@compiled
def with_room(rows: Ints, wanted: int) -> Ints:
    """Return an array of as many rows at least, with what is in it."""
    if wanted <= len(rows):
        return rows
    grown = np.empty((max(wanted, 2 * len(rows)), rows.shape[1]), np.int64)
    grown[: len(rows)] = rows
    return grown

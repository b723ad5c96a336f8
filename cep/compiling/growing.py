"""Compiled: arrays that grow as lists do."""

import numpy as np

from cep.compiling.arrays import Ints
from cep.compiling.functions import compiled


@compiled
def with_room(rows: Ints, wanted: int) -> Ints:
    """Return an array of as many rows at least, with what is in it."""
    if wanted <= len(rows):
        return rows
    grown = np.empty((max(wanted, 2 * len(rows)), rows.shape[1]), np.int64)
    grown[: len(rows)] = rows
    return grown


@compiled
def with_places(numbers: Ints, wanted: int) -> Ints:
    """Return an array of as many numbers at least, with what is in it."""
    if wanted <= len(numbers):
        return numbers
    grown = np.empty(max(wanted, 2 * len(numbers)), np.int64)
    grown[: len(numbers)] = numbers
    return grown

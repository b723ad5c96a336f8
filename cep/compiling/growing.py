"""Compiled: arrays that grow as lists do."""

from typing import TypeVar

import numpy as np

from cep.compiling.arrays import Floats, Ints
from cep.compiling.functions import compiled

Rows = TypeVar("Rows", Ints, Floats)


@compiled
def with_room(rows: Rows, wanted: int) -> Rows:
    """Return an array of as many rows at least, with what is in it."""
    if wanted <= len(rows):
        return rows
    grown = np.empty((max(wanted, 2 * len(rows)), rows.shape[1]), rows.dtype)
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

"""Compiled: arrays that grow as lists do."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from cep.compiling.arrays import Floats, Ints
from cep.compiling.functions import compiled

Numbers = TypeVar("Numbers", Ints, NDArray[np.uint8])
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
def with_places(numbers: Numbers, wanted: int) -> Numbers:
    """Return an array of as many numbers or bytes at least, with what is in it."""
    if wanted <= len(numbers):
        return numbers
    grown = np.empty(max(wanted, 2 * len(numbers)), numbers.dtype)
    grown[: len(numbers)] = numbers
    return grown

"""Orders of whole numbers, as NumPy gives them by sorting, but faster where these lie close.

    numbers ──ranked──► the different ones, and where each is among them
            └─stable_order──► their places, ascending

A batch refers to its events, keys and rows by number, hundreds of thousands at a time.
"""

from typing import Final

import numpy as np

from cep.compiling import Ints

_MOST_APART: Final = 16
"""To sort a number takes as long as to look at some so many places."""
_BITS: Final = 63
"""Of a number that is not negative."""


def ranked(numbers: Ints) -> tuple[Ints, Ints]:
    """Return the different ones of some numbers, ascending, and of each its place among them.

    As `numpy.unique`, which sorts; numbers of events that found something lie close together.
    """
    if not len(numbers):
        return numbers, numbers
    first = int(numbers.min())
    span = int(numbers.max()) - first + 1
    if span > _MOST_APART * len(numbers):
        return np.unique(numbers, return_inverse=True)
    is_there = np.zeros(span, np.bool_)
    is_there[numbers - first] = True
    places = np.cumsum(is_there) - 1
    return first + np.flatnonzero(is_there), places[numbers - first]


def stable_order(*columns: Ints) -> Ints:
    """Return the places of rows in ascending order; of equal ones the first comes first.

    As `numpy.lexsort`, but with the most important column first. Where all columns and the place
    fit into one number, those are sorted, which NumPy does with vector instructions.
    """
    count = len(columns[0])
    firsts = [int(column.min(initial=0)) for column in columns]
    spans = [
        int(column.max(initial=0)) - first for column, first in zip(columns, firsts, strict=True)
    ]
    bits = [span.bit_length() for span in spans]
    of_place = count.bit_length()
    if sum(bits) + of_place > _BITS:
        return np.lexsort(columns[::-1])
    packed = np.zeros(count, np.int64)
    for column, first, width in zip(columns, firsts, bits, strict=True):
        packed <<= width
        packed |= column - first
    packed <<= of_place
    packed |= np.arange(count)
    packed.sort()
    return packed & ((1 << of_place) - 1)

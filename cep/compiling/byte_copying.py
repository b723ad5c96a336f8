"""Compiled: bytes copied from one array to another.

some bytes of an array ──copy_bytes──► at a place of another
"""

import numpy as np
from numpy.typing import NDArray

from cep.compiling.functions import in_caller

Bytes = NDArray[np.uint8]


@in_caller
def copy_bytes(source: Bytes, begin: int, end: int, data: Bytes, place: int) -> int:
    """Copy some bytes to another array; return where they end."""
    for offset in range(end - begin):
        # A place that may be below 0 would count from the end.
        data[np.uint64(place + offset)] = source[np.uint64(begin + offset)]
    return place + end - begin

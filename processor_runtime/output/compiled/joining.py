"""Compiled: texts put together of some pieces each, of which many are the same.

pieces, which of them each text has ──join_octets──► texts one after the other, where each ends
"""

import numpy as np

from cep.compiling import Ints, compiled
from cep.compiling.byte_copying import Bytes
from processor_runtime.output.compiled.pieces import put


@compiled
def joined_sizes(borders: Ints, pieces: Ints, begin: Ints) -> Ints:
    """Return where texts begin that are put together; one more at the end.

    Args:
        borders: where each piece begins; one more at the end.
        pieces: places of pieces, text by text.
        begin: where those of each text begin in `pieces`; one more at the end.
    """
    ends = np.zeros(len(begin), np.int64)
    size = 0
    for text in range(len(begin) - 1):
        for number in range(begin[text], begin[text + 1]):
            size += borders[pieces[number] + 1] - borders[pieces[number]]
        ends[text + 1] = size
    return ends


@compiled
def join_octets(data: Bytes, borders: Ints, pieces: Ints, size: int) -> Bytes:
    """Return pieces one after the other.

    Args:
        data: all pieces.
        borders: where each begins; one more at the end.
        pieces: places of those that are wanted.
        size: how many bytes these have.
    """
    text, place = np.empty(size, np.uint8), 0
    for number in range(len(pieces)):
        place = put(data, borders, pieces[number], text, place)
    return text

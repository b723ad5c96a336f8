"""Compiled: texts put together of pieces that lie one after the other.

pieces, numbers ──put, put_all, put_number──► text, and where it ends
"""

from typing import Final

import numpy as np

from cep.compiling import Ints, in_caller
from cep.compiling.byte_copying import Bytes, copy_bytes

NO_PIECE: Final = -1
MOST_DIGITS: Final = 20
"""Of an integer, with its sign."""


def text_bytes(text: str) -> Bytes:
    """Return a text that compiled code has written into it."""
    return np.frombuffer(text.encode(), np.uint8)


_PAIRS: Final = text_bytes("".join(f"{number:02}" for number in range(100)))


@in_caller
def size_of(borders: Ints, pieces: Ints, number: int) -> int:
    """Return how many bytes the pieces in a row have together."""
    size = 0
    for part in range(pieces.shape[1]):
        piece = pieces[number, part]
        if piece != NO_PIECE:
            size += borders[piece + 1] - borders[piece]
    return size


@in_caller
def put(data: Bytes, borders: Ints, piece: int, text: Bytes, place: int) -> int:
    """Write a piece; return where it ends."""
    return copy_bytes(data, borders[piece], borders[piece + 1], text, place)


@in_caller
def put_all(source: Bytes, text: Bytes, place: int) -> int:
    """Write a text; return where it ends."""
    return copy_bytes(source, 0, len(source), text, place)


@in_caller
def put_number(number: int, text: Bytes, place: int) -> int:
    """Write an integer that has a positive of the same size; return where it ends."""
    if number < 0:
        text[place] = ord("-")
        place += 1
        number = -number
    digits, more = 1, np.uint64(10)
    while np.uint64(number) >= more:
        digits += 1
        more *= np.uint64(10)
    return put_digits(number, digits, text, place)


@in_caller
def put_digits(number: int, digits: int, text: Bytes, place: int) -> int:
    """Write the last digits of an integer that is not negative; return where they end."""
    # As an integer without a sign it is divided by a multiplication; two digits at a time.
    rest, end, hundred = np.uint64(number), np.uint64(place + digits), np.uint64(100)
    for _ in range(digits // 2):
        end -= np.uint64(2)
        pair = np.uint64(2) * (rest % hundred)
        text[end], text[end + np.uint64(1)] = _PAIRS[pair], _PAIRS[pair + np.uint64(1)]
        rest //= hundred
    if digits % 2:
        text[place] = np.uint64(ord("0")) + rest % np.uint64(10)
    return place + digits

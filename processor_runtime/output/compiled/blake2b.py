"""Compiled: BLAKE2b of many texts that stand one after the other.

texts, where each ends ──blake2b_many──► hashes of 16 bytes, two numbers each

The standard library takes a microsecond for each, most of it to make its objects.

Source: RFC 7693, "The BLAKE2 Cryptographic Hash and Message Authentication Code".
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from cep.compiling import Ints, compiled, in_caller
from cep.compiling.byte_copying import Bytes

Word = np.uint64
Words = NDArray[np.uint64]

_BLOCK_BYTES: Final = 128
_IV: Final = np.array(
    [
        0x6A09E667F3BCC908, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1,
        0x510E527FADE682D1, 0x9B05688C2B3E6C1F, 0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179,
    ],
    np.uint64,
)  # fmt: skip
_PARAMETERS: Final = np.uint64(0x01010010)
"""A hash of 16 bytes, without a key, in one piece."""
_SIGMA: Final = np.array(
    [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
        [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
        [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
        [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
        [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
        [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
        [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
        [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
        [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    ],
    np.uint64,
)  # fmt: skip


@compiled
def blake2b_many(data: Bytes, begins: Ints) -> Words:
    """Return the hashes of texts, of shape `(n, 2)`.

    Args:
        data: all texts.
        begins: where each begins; one more at the end.
    """
    hashes = np.empty((len(begins) - 1, 2), np.uint64)
    block, state = np.empty(_BLOCK_BYTES, np.uint8), np.empty(8, np.uint64)
    words = block.view(np.uint64)
    for text in range(len(hashes)):
        begin, end = begins[text], begins[text + 1]
        state[:] = _IV
        state[0] ^= _PARAMETERS
        place = begin
        while True:
            size = min(end - place, _BLOCK_BYTES)
            block[:size] = data[place : place + size]
            block[size:] = 0
            place += size
            _compress(state, words, place - begin, place == end)
            if place == end:
                break
        hashes[text] = state[:2]
    return hashes


@in_caller
def _compress(state: Words, block: Words, count: int, is_last: bool) -> None:  # noqa: FBT001 - compiled code has no names
    """Take a block into a state; `count`: bytes so far, with those of the block."""
    a0, a1, a2, a3, b0, b1, b2, b3 = state
    c0, c1, c2, c3, d0, d1, d2, d3 = _IV
    d0 ^= np.uint64(count)
    if is_last:
        d2 = ~d2
    for order in _SIGMA:
        a0, b0, c0, d0 = _mix(a0, b0, c0, d0, (block[order[0]], block[order[1]]))
        a1, b1, c1, d1 = _mix(a1, b1, c1, d1, (block[order[2]], block[order[3]]))
        a2, b2, c2, d2 = _mix(a2, b2, c2, d2, (block[order[4]], block[order[5]]))
        a3, b3, c3, d3 = _mix(a3, b3, c3, d3, (block[order[6]], block[order[7]]))
        a0, b1, c2, d3 = _mix(a0, b1, c2, d3, (block[order[8]], block[order[9]]))
        a1, b2, c3, d0 = _mix(a1, b2, c3, d0, (block[order[10]], block[order[11]]))
        a2, b3, c0, d1 = _mix(a2, b3, c0, d1, (block[order[12]], block[order[13]]))
        a3, b0, c1, d2 = _mix(a3, b0, c1, d2, (block[order[14]], block[order[15]]))
    mixed = a0 ^ c0, a1 ^ c1, a2 ^ c2, a3 ^ c3, b0 ^ d0, b1 ^ d1, b2 ^ d2, b3 ^ d3
    for number in range(8):
        state[number] ^= mixed[number]


@in_caller
def _mix(
    a: Word, b: Word, c: Word, d: Word, words: tuple[Word, Word]
) -> tuple[Word, Word, Word, Word]:
    """Return four words of a state, mixed with two of a block: G of the RFC."""
    a += b + words[0]
    d = _rotated(d ^ a, 32)
    c += d
    b = _rotated(b ^ c, 24)
    a += b + words[1]
    d = _rotated(d ^ a, 16)
    c += d
    return a, _rotated(b ^ c, 63), c, d


@in_caller
def _rotated(word: Word, bits: int) -> Word:
    return (word >> np.uint64(bits)) | (word << np.uint64(64 - bits))

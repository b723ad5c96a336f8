"""Compiled: the middle of BLAKE2b, for those who hash many short texts.

    state begun with sizes ──block after block of 128 bytes──► state, whose beginning is the digest

Source: RFC 7693, "The BLAKE2 Cryptographic Hash and Message Authentication Code".
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from cep.compiling import in_place, inlined

Words = NDArray[np.uint64]

BLOCK_BYTES: Final = 128
BLOCK_WORDS: Final = 16
STATE_WORDS: Final = 8
NOT_LAST: Final = np.uint64(0)
LAST: Final = np.uint64(0xFFFFFFFFFFFFFFFF)
BEGIN: Final = np.array(
    [
        0x6A09E667F3BCC908,
        0xBB67AE8584CAA73B,
        0x3C6EF372FE94F82B,
        0xA54FF53A5F1D36F1,
        0x510E527FADE682D1,
        0x9B05688C2B3E6C1F,
        0x1F83D9ABFB41BD6B,
        0x5BE0CD19137E2179,
    ],
    np.uint64,
)
"""A state before sizes are mixed in, and the other half of what is mixed with a block."""
PERMUTED: Final = np.array(
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
    np.int64,
)
"""Which words each of the twelve turns takes, in order."""


@in_place
def begin(state: Words, key_bytes: int, digest_bytes: int) -> None:
    """Set a state to what it is before the first block."""
    for word in range(len(BEGIN)):
        state[word] = BEGIN[word]
    state[0] ^= np.uint64(0x01010000 | key_bytes << 8 | digest_bytes)


@in_place
def compress(state: Words, words: Words, first: int, counted: int, last: np.uint64) -> None:
    """Mix a block into the state.

    Args:
        state: 8 words.
        words: where the block is, each word with the lowest byte first.
        first: its first word.
        counted: how many bytes there were with it.
        last: `LAST` or `NOT_LAST`.
    """
    # As variables of their own they stay in registers.
    a0, a1, a2, a3 = state[0], state[1], state[2], state[3]
    b0, b1, b2, b3 = state[4], state[5], state[6], state[7]
    c0, c1, c2, c3 = BEGIN[0], BEGIN[1], BEGIN[2], BEGIN[3]
    d0, d1, d2, d3 = BEGIN[4] ^ np.uint64(counted), BEGIN[5], BEGIN[6] ^ last, BEGIN[7]
    for turn in range(len(PERMUTED)):
        a0, b0, c0, d0 = _mixed(a0, b0, c0, d0, words, first, turn, 0)
        a1, b1, c1, d1 = _mixed(a1, b1, c1, d1, words, first, turn, 2)
        a2, b2, c2, d2 = _mixed(a2, b2, c2, d2, words, first, turn, 4)
        a3, b3, c3, d3 = _mixed(a3, b3, c3, d3, words, first, turn, 6)
        a0, b1, c2, d3 = _mixed(a0, b1, c2, d3, words, first, turn, 8)
        a1, b2, c3, d0 = _mixed(a1, b2, c3, d0, words, first, turn, 10)
        a2, b3, c0, d1 = _mixed(a2, b3, c0, d1, words, first, turn, 12)
        a3, b0, c1, d2 = _mixed(a3, b0, c1, d2, words, first, turn, 14)
    state[0] ^= a0 ^ c0
    state[1] ^= a1 ^ c1
    state[2] ^= a2 ^ c2
    state[3] ^= a3 ^ c3
    state[4] ^= b0 ^ d0
    state[5] ^= b1 ^ d1
    state[6] ^= b2 ^ d2
    state[7] ^= b3 ^ d3


@inlined
def _mixed(  # noqa: PLR0913, PLR0917 - compiled into the inner loop
    a: np.uint64,
    b: np.uint64,
    c: np.uint64,
    d: np.uint64,
    words: Words,
    first: int,
    turn: int,
    place: int,
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Return what the standard calls G, of the words at two places of a turn."""
    a = a + b + words[first + PERMUTED[turn, place]]
    d = _rotated(d ^ a, 32)
    c = c + d
    b = _rotated(b ^ c, 24)
    a = a + b + words[first + PERMUTED[turn, place + 1]]
    d = _rotated(d ^ a, 16)
    c = c + d
    b = _rotated(b ^ c, 63)
    return a, b, c, d


@inlined
def _rotated(word: np.uint64, bits: int) -> np.uint64:
    """Return a word rotated to the right."""
    return (word >> np.uint64(bits)) | (word << np.uint64(64 - bits))

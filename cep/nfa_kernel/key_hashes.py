"""Compiled: the hashes of many keys, BLAKE2b with a key and eight bytes of digest.

    keys as bytes ──key_hashes──► 64 bits of each, as `hashlib.blake2b` tells them

A call of `hashlib` for each key costs two microseconds, most of it the objects around it.

Source: RFC 7693, "The BLAKE2 Cryptographic Hash and Message Authentication Code".
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from cep.compiling import Ints, compiled, in_place
from cep.nfa_kernel.packed_values import Bytes

Words = NDArray[np.uint64]

MOST_KEY_BYTES: Final = 64
_DIGEST_BYTES: Final = 8
_BLOCK_BYTES: Final = 128
_WORD_BYTES: Final = 8
_BEGIN: Final = np.array(
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
_PERMUTED: Final = np.array(
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
    ],
    np.int64,
)
_ROUNDS: Final = 12
_COLUMNS_AND_DIAGONALS: Final = np.array(
    [
        [0, 4, 8, 12],
        [1, 5, 9, 13],
        [2, 6, 10, 14],
        [3, 7, 11, 15],
        [0, 5, 10, 15],
        [1, 6, 11, 12],
        [2, 7, 8, 13],
        [3, 4, 9, 14],
    ],
    np.int64,
)
_NOT_LAST: Final = np.uint64(0)
_LAST: Final = np.uint64(0xFFFFFFFFFFFFFFFF)


@compiled
def key_hashes(data: Bytes, spans: Ints, secret: Bytes) -> Words:
    """Return the hash of each key, its digest read as a number with the highest byte first.

    Args:
        data: where they are.
        spans: begin and end of each, which has a byte at least.
        secret: what `hashlib` calls the key, of `MOST_KEY_BYTES` at most.
    """
    hashes = np.empty(len(spans), np.uint64)
    message, mixed = np.zeros(16, np.uint64), np.zeros(16, np.uint64)
    state, keyed = np.zeros(8, np.uint64), _BEGIN.copy()
    keyed[0] ^= np.uint64(0x01010000 | len(secret) << 8 | _DIGEST_BYTES)
    counted = 0
    if len(secret):
        counted = _BLOCK_BYTES
        _load(secret, 0, len(secret), message)
        _compress(keyed, message, mixed, counted, _NOT_LAST)
    for number in range(len(spans)):
        place, end = spans[number, 0], spans[number, 1]
        state[:] = keyed
        size = counted + end - place
        done = counted
        while end - place > _BLOCK_BYTES:
            done += _BLOCK_BYTES
            _load(data, place, place + _BLOCK_BYTES, message)
            _compress(state, message, mixed, done, _NOT_LAST)
            place += _BLOCK_BYTES
        _load(data, place, end, message)
        _compress(state, message, mixed, size, _LAST)
        hashed = np.uint64(0)
        for byte in range(_DIGEST_BYTES):
            one = (state[0] >> np.uint64(8 * byte)) & np.uint64(0xFF)
            hashed = (hashed << np.uint64(8)) | one
        hashes[number] = hashed
    return hashes


@in_place
def _load(data: Bytes, begin: int, end: int, message: Words) -> None:
    """Read a block as words with the lowest byte first; what it lacks is 0."""
    for word in range(len(message)):
        message[word] = np.uint64(0)
    for number in range(end - begin):
        bits = np.uint64(8 * (number % _WORD_BYTES))
        message[number // _WORD_BYTES] |= np.uint64(data[begin + number]) << bits


@in_place
def _compress(state: Words, message: Words, mixed: Words, counted: int, last: np.uint64) -> None:
    """Mix a block into the state; `counted` is how many bytes there were with it."""
    for word in range(8):
        mixed[word] = state[word]
        mixed[8 + word] = _BEGIN[word]
    mixed[12] ^= np.uint64(counted)
    mixed[14] ^= last
    for turn in range(_ROUNDS):
        for four in range(8):
            a, b = _COLUMNS_AND_DIAGONALS[four, 0], _COLUMNS_AND_DIAGONALS[four, 1]
            c, d = _COLUMNS_AND_DIAGONALS[four, 2], _COLUMNS_AND_DIAGONALS[four, 3]
            first = message[_PERMUTED[turn % 10, 2 * four]]
            second = message[_PERMUTED[turn % 10, 2 * four + 1]]
            mixed[a] += mixed[b] + first
            mixed[d] = _rotated(mixed[d] ^ mixed[a], 32)
            mixed[c] += mixed[d]
            mixed[b] = _rotated(mixed[b] ^ mixed[c], 24)
            mixed[a] += mixed[b] + second
            mixed[d] = _rotated(mixed[d] ^ mixed[a], 16)
            mixed[c] += mixed[d]
            mixed[b] = _rotated(mixed[b] ^ mixed[c], 63)
    for word in range(8):
        state[word] ^= mixed[word] ^ mixed[8 + word]


@in_place
def _rotated(word: np.uint64, bits: int) -> np.uint64:
    """Return a word rotated to the right."""
    return (word >> np.uint64(bits)) | (word << np.uint64(64 - bits))

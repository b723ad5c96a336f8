"""Compiled: the hashes of many keys, BLAKE2b with a key and eight bytes of digest.

    keys as bytes ──key_hashes──► 64 bits of each, as `hashlib.blake2b` tells them

A call of `hashlib` for each key costs two microseconds, most of it the objects around it.

Source: RFC 7693, "The BLAKE2 Cryptographic Hash and Message Authentication Code".
"""

from typing import Final

import numpy as np

from cep.compiling import Ints, compiled
from cep.nfa_kernel.blake2b import BLOCK_BYTES, LAST, NOT_LAST, Words, begin, compress
from cep.nfa_kernel.byte_copying import Bytes, copied

MOST_KEY_BYTES: Final = 64
_DIGEST_BYTES: Final = 8


@compiled
def key_hashes(data: Bytes, spans: Ints, secret: Bytes) -> Words:
    """Return the hash of each key, its digest read as a number with the highest byte first.

    Args:
        data: where they are.
        spans: begin and end of each, which has a byte at least.
        secret: what `hashlib` calls the key, of `MOST_KEY_BYTES` at most.
    """
    hashes = np.empty(len(spans), np.uint64)
    block = np.zeros(BLOCK_BYTES, np.uint8)
    words = block.view(np.uint64)
    state, keyed = np.zeros(8, np.uint64), np.zeros(8, np.uint64)
    begin(keyed, len(secret), _DIGEST_BYTES)
    counted = 0
    if len(secret):
        counted = BLOCK_BYTES
        copied(secret, 0, len(secret), block, 0)
        compress(keyed, words, 0, counted, NOT_LAST)
    for number in range(len(spans)):
        place, end = spans[number, 0], spans[number, 1]
        state[:] = keyed
        size = counted + end - place
        done = counted
        while end - place > BLOCK_BYTES:
            done += BLOCK_BYTES
            copied(data, place, place + BLOCK_BYTES, block, 0)
            compress(state, words, 0, done, NOT_LAST)
            place += BLOCK_BYTES
        block[:] = 0
        copied(data, place, end, block, 0)
        compress(state, words, 0, size, LAST)
        hashed = np.uint64(0)
        for byte in range(_DIGEST_BYTES):
            one = (state[0] >> np.uint64(8 * byte)) & np.uint64(0xFF)
            hashed = (hashed << np.uint64(8)) | one
        hashes[number] = hashed
    return hashes

"""Compiled: what thousands of matches are called: hashes of what makes each of them itself.

    pieces of texts, times ──digests_of──► digests

A digest is what `processor_runtime.rows.match_ids.MatchIds` makes of the same match.
"""

from typing import Final

import numpy as np

from cep.compiling import Ints, compiled, in_place
from cep.nfa_kernel.blake2b import (
    BLOCK_BYTES,
    BLOCK_WORDS,
    LAST,
    NOT_LAST,
    STATE_WORDS,
    Words,
    begin,
)
from cep.nfa_kernel.blake2b_lanes import LANES, WORD_BYTES, compress_lanes
from cep.nfa_kernel.byte_copying import Bytes
from cep.nfa_kernel.text_pieces import MOST_DIGITS, put, put_all, put_number, size_of, text_bytes

DIGEST_BYTES: Final = 16

_DIGEST_WORDS: Final = 2
_NONE: Final = -1
"""In place of the number of a match: in this lane none is hashed."""
_COMMA: Final = text_bytes(", ")
_CLOSED: Final = text_bytes(")")
_MOST_BESIDE_PIECES: Final = 2 * (MOST_DIGITS + 2) + 1


@compiled
def digests_of(data: Bytes, borders: Ints, pieces: Ints, times_ms: Ints) -> Bytes:
    """Return the digest of each match, one after the other.

    Args:
        data: texts, one after the other.
        borders: where each begins; one more at the end.
        pieces: of each match the text with which its identity begins, its key, and its events.
        times_ms: when it begins and ends.
    """
    digests = np.empty(len(pieces) * _DIGEST_WORDS, np.uint64)
    # Untouched, what only the longest of them needs takes no memory.
    texts = np.empty((LANES, _most_blocks(borders, pieces) * BLOCK_WORDS), np.uint64)
    numbers, sizes, first = (
        np.full(LANES, _NONE),
        np.zeros(LANES, np.int64),
        np.zeros(LANES, np.int64),
    )
    state = np.empty((STATE_WORDS, LANES), np.uint64)
    counted, last = np.empty(LANES, np.uint64), np.empty(LANES, np.uint64)
    begun, ended = 0, 0
    while ended < len(pieces):
        for lane in range(LANES):
            if numbers[lane] == _NONE and begun < len(pieces):
                text = texts[lane].view(np.uint8)
                numbers[lane] = begun
                sizes[lane] = _put_identity(data, borders, pieces, times_ms, begun, text)
                begin(state[:, lane], 0, DIGEST_BYTES)
                begun += 1
            size, done = sizes[lane], first[lane] * WORD_BYTES + BLOCK_BYTES
            counted[lane], last[lane] = (size, LAST) if size <= done else (done, NOT_LAST)
        compress_lanes(state, texts, first, counted, last)
        for lane in range(LANES):
            first[lane] += BLOCK_WORDS
            if last[lane] == LAST:
                ended += _put_digest(state, lane, numbers[lane], digests)
                numbers[lane], first[lane] = _NONE, 0
    return digests.view(np.uint8)


@in_place
def _most_blocks(borders: Ints, pieces: Ints) -> int:
    """Return how many blocks an identity has at most."""
    most = 0
    for number in range(len(pieces)):
        most = max(most, size_of(borders, pieces, number))
    return (most + _MOST_BESIDE_PIECES) // BLOCK_BYTES + 1


@in_place
def _put_identity(  # noqa: PLR0913, PLR0917 - compiled into the loop over matches
    data: Bytes, borders: Ints, pieces: Ints, times_ms: Ints, number: int, text: Bytes
) -> int:
    """Write what makes a match itself, zeros up to the end of its last block; return its size."""
    size = put(data, borders, pieces[number, 0], text, 0)
    size = put(data, borders, pieces[number, 1], text, size)
    for part in range(2):
        size = put_all(_COMMA, text, size)
        size = put_number(times_ms[number, part], text, size)
    size = put_all(_CLOSED, text, size)
    size = put(data, borders, pieces[number, 2], text, size)
    for place in range(size, -(-size // BLOCK_BYTES) * BLOCK_BYTES):
        text[place] = 0
    return size


@in_place
def _put_digest(state: Words, lane: int, number: int, digests: Words) -> int:
    """Write the digest of a lane; return how many that are, as none may be hashed in it."""
    if number == _NONE:
        return 0
    for word in range(_DIGEST_WORDS):
        digests[number * _DIGEST_WORDS + word] = state[word, lane]
    return 1

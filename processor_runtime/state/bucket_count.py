"""How many buckets the keys of a group get: more or fewer a few at a time, so that none stalls.

    keys of each bucket, keys put ──next_count──► number of buckets after this batch

A batch reads, decodes and writes whole buckets. If it wants one key of each they are best small,
but not much smaller than this: an access costs what some dozens of keys do. If it wants so many
keys that it reads all of any buckets, they are best large.
"""

from typing import Final

import numpy as np

from processor_runtime.state.bucket_index import Numbers

KEYS_PER_BUCKET: Final = 32
"""The average. A bucket that has been split last in its round holds half of what the others do."""
MOST_KEYS_PER_BUCKET: Final = 256
"""The average where batches touch many of all keys."""
_FEW: Final = 48
"""They are many if they are more than one in so many."""
_MOVED_PER_PUT: Final = 2
_ALWAYS_MOVED: Final = 2_048
"""Keys that a batch may move beside what it does anyhow; those to whom it belongs are split in
turn, so that this also brings a state with larger buckets to this size, in some hundred batches."""
_SPARSE: Final = 4
"""How many times too many buckets there may be before they become fewer."""
_ALWAYS_MERGED: Final = 16
_PUTS_PER_MERGED: Final = 8


def next_count(keys: Numbers, puts: int, taken: int) -> int:
    """Return how many buckets there shall be.

    Args:
        keys: how many keys each bucket has.
        puts: how many keys this batch has put.
        taken: how many it has found.
    """
    every = int(keys.sum())
    of_each = MOST_KEYS_PER_BUCKET if _FEW * taken > every else KEYS_PER_BUCKET
    wanted = max(1, -(-every // of_each))
    if wanted > len(keys):
        return _grown(keys, wanted, _ALWAYS_MOVED + _MOVED_PER_PUT * puts)
    if wanted * _SPARSE < len(keys):
        return _shrunk(keys, 2 * wanted, _ALWAYS_MERGED + puts // _PUTS_PER_MERGED)
    return len(keys)


def origin(number: int, buckets: int) -> int:
    """Return where the keys of a bucket are if there are only so many buckets."""
    while number >= buckets:
        number -= 1 << (number.bit_length() - 1)
    return number


def emptied_and_filled(keys: Numbers, count: int) -> tuple[set[int], set[int]]:
    """Return which buckets with keys give some away if there are to be so many, and to which.

    Beside the second these may be new ones.
    """
    before = len(keys)
    emptied = {origin(number, before) for number in range(before, count)}
    emptied |= set(range(count, before))
    emptied = {number for number in emptied if keys[number]}
    return emptied, {origin(number, count) for number in emptied}


def _grown(keys: Numbers, wanted: int, most_moved: int) -> int:
    """Return as many of the wanted buckets as do not move more keys than this, at least one more.

    With 2^k + s buckets, the next ones take keys from s, s + 1 … 2^k - 1, then from 0 … s - 1.
    """
    if int(keys.sum()) <= most_moved:
        return wanted
    count = len(keys)
    power = 1 << (count.bit_length() - 1)
    split = count - power
    in_turn = np.concatenate((keys[split:power], keys[:split]))
    fitting = int(np.searchsorted(np.cumsum(in_turn), most_moved, side="right"))
    return min(wanted, count + max(1, fitting))


def _shrunk(keys: Numbers, wanted: int, most_merged: int) -> int:
    """Return the wanted number, or more of which no more buckets with keys than this are merged."""
    merged = np.flatnonzero(keys[wanted:])
    return wanted if len(merged) <= most_merged else wanted + int(merged[-most_merged])

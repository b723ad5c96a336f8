"""How many buckets the keys of a group get: more or fewer a few at a time, so that none stalls.

    keys held, keys changed ──next_count──► number of buckets after this batch

A batch reads, decodes and writes whole buckets: smaller ones would cost a batch that touches all
keys more accesses, larger ones a batch that touches few keys more bytes.
"""

from typing import Final

from processor_runtime.state.bucket_index import Numbers

KEYS_PER_BUCKET: Final = 64
"""The average. A bucket that has been split last in its round holds half of what the others do."""
_SPARSE: Final = 4
"""How many times too many buckets there may be before they become fewer."""
_ALWAYS_RESIZED: Final = 16
"""By so many buckets the number may change, beside one for each `_CHANGED_PER_RESIZED` keys."""
_CHANGED_PER_RESIZED: Final = 8


def next_count(keys: int, buckets: int, changed: int) -> int:
    """Return how many buckets there shall be.

    `changed`: how many keys this batch has put or removed.
    """
    wanted = max(1, -(-keys // KEYS_PER_BUCKET))
    most = _ALWAYS_RESIZED + changed // _CHANGED_PER_RESIZED
    if wanted > buckets:
        return min(wanted, buckets + most)
    if wanted * _SPARSE < buckets:
        return max(2 * wanted, buckets - most)
    return buckets


def origin(number: int, buckets: int) -> int:
    """Return where the keys of a bucket are if there are only so many buckets."""
    while number >= buckets:
        number -= 1 << (number.bit_length() - 1)
    return number


def emptied_and_filled(keys: Numbers, count: int) -> tuple[set[int], set[int]]:
    """Return which buckets with keys give some away if there are to be so many, and to which.

    Beside the second these may be new ones.

    `keys`: how many keys each bucket has.
    """
    before = len(keys)
    emptied = {origin(number, before) for number in range(before, count)}
    emptied |= set(range(count, before))
    emptied = {number for number in emptied if keys[number]}
    return emptied, {origin(number, count) for number in emptied}

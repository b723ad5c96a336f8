"""How many keys there are, from a bounded number of their hashes, in whatever order they come.

hashes of keys ──merged──► the smallest of them ──keys_in──► number, exact or estimated

The smallest hashes of a set are the same for any split of it, so an estimate is, too.

Source: Bar-Yossef et al., "Counting distinct elements in a data stream" (2002): k minimum values.
"""

from collections.abc import Sequence
from typing import Final

KEYS_HELD: Final = 500
"""Up to so many but one, keys are counted exactly; beyond, the standard error is 4.5 %."""
_HASHES: Final = 2**64


def merged(one: Sequence[str], other: Sequence[str]) -> tuple[str, ...]:
    """Return the sketch of the keys of both; a sketch is in order."""
    return tuple(sorted({*one, *other})[:KEYS_HELD])


def keys_in(sketch: Sequence[str]) -> tuple[int, bool]:
    """Return how many keys there are, and whether that is estimated."""
    if len(sketch) < KEYS_HELD:
        return len(sketch), False
    largest = int(sketch[-1], 16) + 1
    return max((KEYS_HELD - 1) * _HASHES // largest, KEYS_HELD), True

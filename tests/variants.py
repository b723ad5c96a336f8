"""Which of the variants of other tests are run, where not all of them are: in CI, by its commit.

A variant is a long test, or one of faults, of a function that is tried in another way as well: by a
short test, or by that one of its own parametrizations which the commit chooses. It is the same on
PostgreSQL, in the dark, from another older checkpoint, with another seed.
"""

from collections import defaultdict
from collections.abc import Iterable
from zlib import crc32

import pytest


def variants(items: Iterable[pytest.Item], text: str) -> set[pytest.Item]:
    """Return the tests that vary another one of these.

    Args:
        items: all tests, marked.
        text: with another text, of some functions another parametrization is no variant.
    """
    by_function: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        by_function[item.nodeid.partition("[")[0]].append(item)
    found: set[pytest.Item] = set()
    for same in by_function.values():
        slow = [item for item in same if is_slow(item)]
        if len(slow) == len(same):
            slow.remove(min(slow, key=lambda item: _number(item, text)))
        found.update(slow)
    return found


def are_left_out(items: Iterable[pytest.Item], one_in: int, text: str) -> set[pytest.Item]:
    """Return the variants that are not among one in so many, which a text chooses.

    Args:
        items: all tests, marked.
        one_in: 1 leaves out none.
        text: with another text others are chosen.
    """
    return {item for item in variants(items, text) if _number(item, text) % one_in != 0}


def is_slow(item: pytest.Item) -> bool:
    """Whether a test is a long one, or one of faults."""
    return any(item.get_closest_marker(name) is not None for name in ("long", "faults"))


def _number(item: pytest.Item, text: str) -> int:
    return crc32(f"{text} {item.nodeid}".encode())

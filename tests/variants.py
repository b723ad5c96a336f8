"""Which of the variants of shorter tests are run, where not all of them are: in CI, by its commit.

A variant is a long test of a function that also has a short one: the same on PostgreSQL, in the
dark, with another seed.
"""

from collections.abc import Iterable
from zlib import crc32

import pytest


def are_left_out(items: Iterable[pytest.Item], one_in: int, text: str) -> set[pytest.Item]:
    """Return the variants that are not among one in so many, which a text chooses.

    Args:
        items: all tests, marked.
        one_in: 1 leaves out none.
        text: with another text others are chosen.
    """
    items = list(items)
    tried = {_function(item) for item in items if not _is_long(item)}
    return {
        item
        for item in items
        if _is_long(item)
        and _function(item) in tried
        and crc32(f"{text} {item.nodeid}".encode()) % one_in != 0
    }


def _is_long(item: pytest.Item) -> bool:
    return item.get_closest_marker("long") is not None


def _function(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]

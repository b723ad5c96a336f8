"""When a test has its turn: slow files first, or, where there is no time for all, as a text has it.

A file runs in one process: a slow one that begins last leaves the others idle.
"""

from typing import Final
from zlib import crc32

import pytest

SLOW_FILES: Final = (
    "tests/processor_runtime/core/test_vectors.py",
    "tests/api/test_every_answer.py",
    "tests/api/test_trial_limits.py",
    "tests/api/test_matches.py",
    "tests/api/test_many_writers.py",
    "tests/processor_runtime/core/test_code_watch.py",
    "tests/processor_runtime/core/test_restarts.py",
    "tests/row_pattern/test_search_equals_brute_force.py",
)
"""Those that take longest without Spark."""


def turn(item: pytest.Item, variants: set[str], text: str) -> tuple[bool, int]:
    """Return what tests are sorted by: variants last, as there may be no time for them.

    Args:
        item: a test.
        variants: the ids of those that vary another one.
        text: none for tests that are all run. Of those that are not, another text has other files
            begin, whatever they need; else the same ones would never have their turn.
    """
    is_variant = item.nodeid in variants
    if text:
        return is_variant, crc32(f"{item.nodeid.partition('::')[0]} {text}".encode())
    if item.get_closest_marker("spark") is not None:  # its files take minutes
        return is_variant, 0
    return is_variant, 1 if item.nodeid.startswith(SLOW_FILES) else 2

"""How many examples of a property are tried: as many as are usual, some times as many, or fewer.

Where `CI` is set Hypothesis draws the same examples in every run, so that those which have passed
find only what a change breaks. Each run on a developer's machine draws others.
"""

import os
from typing import Final

_FACTOR: Final = float(os.environ.get("PERCEPT_EXAMPLE_FACTOR") or 1)


def example_count(usual: int) -> int:
    """Return how many examples are tried in this run where so many are usual.

    The environment variable `PERCEPT_EXAMPLE_FACTOR` is what it is multiplied by, 1 by default: 0.4
    in CI, 100 for a long search.
    """
    return max(1, round(_FACTOR * usual))

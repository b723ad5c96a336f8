"""How the search of a partition has ended; numbers, which compiled code takes as constants."""

from typing import Final

MATCHED: Final = 0
UNDECIDED: Final = 1
"""Rows that are not there yet decide."""
FAILED: Final = 2
GAVE_UP: Final = 3
"""The interpreting search has to decide: an error, an overflow, or too much tried."""

"""Quotes of CSV in many lines at once.

lines ──outside_of_quotes──► the same lines without what is in quotes · `None`: look at each line
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

QUOTE: Final = b'"'
_MASK: Final = np.uint8(0x7F)
"""Stands for each masked octet: the last code of ASCII, so that no separator is above it."""


def outside_of_quotes(lines: bytes, separator: int) -> NDArray[np.uint8] | None:
    """Return octets of lines in which only what is outside of quotes can be seen.

    Opening quotes are masked as well; closing quotes are not.

    `separator`: the code of the character between values.

    Returns:
        `None` if a quote does not stand where RFC 4180 has one, or a line ends in quotes.
    """
    octets = np.frombuffer(lines, np.uint8)
    if QUOTE not in lines:
        return octets
    is_quote = octets == ord(QUOTE)
    places = np.flatnonzero(is_quote)
    opening, closing = places[::2], places[1::2]
    if len(opening) != len(closing):
        return None
    before = octets[opening[opening > 0] - 1]
    after = octets[closing[closing < len(octets) - 1] + 1]
    # A quote beside another one is a doubled one, for between the two nothing can stand.
    if not all(
        (end_values(each, separator) | (each == ord(QUOTE))).all() for each in (before, after)
    ):
        return None
    is_inside = np.bitwise_xor.accumulate(is_quote).view(np.uint8)
    outside = np.maximum(octets, is_inside * _MASK)
    return outside if _lines(octets) == _lines(outside) else None


def end_values(octets: NDArray[np.uint8], separator: int) -> NDArray[np.bool_]:
    """Return which of these octets end a value."""
    ends: NDArray[np.bool_] = (octets == separator) | (octets == ord("\n"))
    return ends


def _lines(octets: NDArray[np.uint8]) -> int:
    return int(np.count_nonzero(octets == ord("\n")))

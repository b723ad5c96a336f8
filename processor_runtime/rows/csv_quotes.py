r"""Quoted values of CSV, where Spark and Polars surely find the same in them.

    lines of a plain CSV file ──mask_quoted──► the same lines without quoted values · NotPlain

What stands in quotes from a separator to the next, without a line end and without `\`, is the value
itself to both, whatever the column's type. Others they read in different ways: `""` inside of
quotes is one quote to Polars, and to Spark a mistake of who wrote it, for it wants `\"`.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from processor_runtime.rows.plain_form import NotPlain

QUOTE: Final = b'"'
_MASK: Final = np.uint8(0x7F)
"""Stands for each masked octet: the last code of ASCII, so that no separator is above it."""
_SPACES: Final = tuple(b" \t")
_NOT_IN_QUOTES: Final = {b"\n": "a line end in a quoted value", b"\\": "a \\ in a quoted value"}


def mask_quoted(lines: bytes, separator: int) -> bytes:
    """Return lines of the same length in which only what is outside of quotes can be seen.

    Opening quotes are masked as well; closing quotes are not.

    `separator`: the code of the character between values.

    Raises:
        NotPlain: Spark could read a quoted value in another way than Polars.
    """
    octets = np.frombuffer(lines, np.uint8)
    is_quote = octets == ord(QUOTE)
    places = np.flatnonzero(is_quote)
    opening, closing = places[::2], places[1::2]
    if len(opening) != len(closing):
        raise NotPlain("a quote that is not closed")
    before = octets[opening[opening > 0] - 1]
    after = octets[closing[closing < len(octets) - 1] + 1]
    if not (end_values(before, separator).all() and end_values(after, separator).all()):
        raise NotPlain("a quote inside of a value")
    # Polars ignores a space before a number, Java does not.
    if np.isin(octets[opening + 1], _SPACES).any():
        raise NotPlain("a space at the beginning of a quoted value")
    is_inside = np.bitwise_xor.accumulate(is_quote).view(np.uint8)
    outside = np.maximum(octets, is_inside * _MASK)
    for octet, what in _NOT_IN_QUOTES.items():
        if octet in lines and _count(octets, octet) != _count(outside, octet):
            raise NotPlain(what)
    return bytes(outside)


def end_values(octets: NDArray[np.uint8], separator: int) -> NDArray[np.bool_]:
    """Return which of these octets end a value."""
    ends: NDArray[np.bool_] = (octets == separator) | (octets == ord("\n"))
    return ends


def _count(octets: NDArray[np.uint8], octet: bytes) -> int:
    return int(np.count_nonzero(octets == ord(octet)))

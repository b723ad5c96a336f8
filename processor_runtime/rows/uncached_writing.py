"""Many bytes to a file without keeping them in memory, where the kernel can do that.

RowLines ──LineFiles──write_all──► file, written back at once

Matches of a large batch are hundreds of megabytes. The kernel would keep them all in its page
cache: for each it needs fresh pages, which in a virtual machine cost more than to make the lines,
and pushes out what will be read again.

Source: Linux, `pwritev2(2)`, `RWF_DONTCACHE` (since 6.14).
"""

import os
from contextlib import suppress
from typing import BinaryIO, Final

_DONT_CACHE: Final = 0x80
"""`RWF_DONTCACHE`, for which Python has no name yet."""
FEWEST_BYTES: Final = 1 << 20
"""Fewer stay in the cache: whoever follows the output reads them soon, and they take little."""


def write_all(file: BinaryIO, content: bytes | memoryview) -> None:
    """Write all of it where the file is, which has no buffer.

    Raises:
        OSError: it could not be written, or only its beginning.
    """
    rest = memoryview(content)
    if len(rest) >= FEWEST_BYTES and hasattr(os, "pwritev"):
        rest = _written_back(file, rest)
    while rest:
        rest = rest[file.write(rest) :]


def _written_back(file: BinaryIO, rest: memoryview) -> memoryview:
    """Write as much as goes without the cache; return the rest, all of it on most systems.

    What is wrong with the file is met again where the rest is written.
    """
    place = file.tell()
    with suppress(OSError, NotImplementedError):
        while rest:
            count = os.pwritev(file.fileno(), [rest], place, _DONT_CACHE)
            rest, place = rest[count:], place + count
    file.seek(place)
    return rest

"""Many bytes to a file without keeping them in memory, where the kernel can do that.

RowLines ──LineFiles──write_all──► file, written back at once

Matches of a large batch are hundreds of megabytes. The kernel would keep them all in its page
cache: for each it needs fresh pages, which in a virtual machine cost more than to make the lines,
and pushes out what will be read again.

Source: Linux, `pwritev2(2)`, `RWF_DONTCACHE`.
"""

import os
import platform
import re
import sys
from contextlib import suppress
from functools import cache
from typing import BinaryIO, Final

_DONT_CACHE: Final = 0x80
"""`RWF_DONTCACHE`, for which Python has no name yet."""
_FIRST_SOUND: Final = 6, 16
"""The flag is there since Linux 6.14, where a page that was written to again, as the last one of a
part is by the next part, might be taken back with what was not on the disk yet."""
_AT_THE_END: Final = -1
"""Where the file is, which goes on as with `write`."""
FEWEST_BYTES: Final = 1 << 20
"""Fewer stay in the cache: whoever follows the output reads them soon, and they take little."""


def write_all(file: BinaryIO, content: bytes | memoryview) -> None:
    """Write all of it where the file is, which has no buffer.

    Raises:
        OSError: it could not be written, or only its beginning.
    """
    rest = memoryview(content)
    if len(rest) >= FEWEST_BYTES and _goes_past_the_cache():
        rest = _written_back(file, rest)
    while rest:
        rest = rest[file.write(rest) :]


def _written_back(file: BinaryIO, rest: memoryview) -> memoryview:
    """Write as much as goes without the cache; return the rest, all of it on most systems.

    What is wrong with the file is met again where the rest is written.
    """
    with suppress(OSError, NotImplementedError):
        while rest:
            rest = rest[os.pwritev(file.fileno(), [rest], _AT_THE_END, _DONT_CACHE) :]
    return rest


@cache
def _goes_past_the_cache() -> bool:
    """Return whether this is a Linux that does so without losing anything."""
    release = re.match(r"(\d+)\.(\d+)", platform.release())
    if sys.platform != "linux" or release is None:
        return False
    return tuple(map(int, release.groups())) >= _FIRST_SOUND

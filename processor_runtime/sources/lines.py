"""Files as whole lines, some megabytes at a time, whatever stands in them.

file ──line_blocks──► blocks of lines, each with its end
"""

from codecs import BOM_UTF8
from collections.abc import Iterator
from typing import BinaryIO, Final

_BLOCK_BYTES: Final = 2 << 20
_LONGEST_LINE_BYTES: Final = 64 << 20
_BYTES_OF_LONG_LINE: Final = 1_000_000


def line_blocks(file: BinaryIO, length: int) -> Iterator[bytes]:
    r"""Yield whole lines; a byte order mark before the first is left out.

    Of a line that is too long to be an event its first million bytes are left, and a NUL at their
    end, with which it is malformed in every format.

    Args:
        file: at its beginning.
        length: how many bytes of it are read.
    """
    begun = b""
    is_first, is_too_long = True, False
    while data := file.read(min(length, _BLOCK_BYTES)):
        length -= len(data)
        if is_first:
            data, is_first = data.removeprefix(BOM_UTF8), False
        end = data.rfind(b"\n") + 1
        if end:
            # What is left of a line that is too long is dropped.
            begin = data.find(b"\n") if is_too_long else 0
            is_too_long = False
            yield begun + data[begin:end]
            begun = data[end:]
        elif not is_too_long:
            begun += data
            if len(begun) > _LONGEST_LINE_BYTES:
                begun, is_too_long = begun[:_BYTES_OF_LONG_LINE] + b"\0", True
    if begun:
        yield begun

"""Rows of one column of bytes as Spark's Java side pickles them, read without its schema each time.

    first row ──unpickled, as PySpark does──► value, and where it stands ──► those after it: cut out

With each row comes its schema as JSON, which takes longer to parse than all else. Everything but
the value is the same in each row; what looks different is unpickled.
"""

import pickletools
from collections.abc import Callable
from typing import Any, Final

_TEXT: Final = b"X"  # the opcode of a text: its length in four bytes, then it
_TEXT_NAME: Final = "BINUNICODE"
_LENGTH_BYTES: Final = 4


class PickledRows:
    """What reads the pickled rows of one column of bytes.

    Args:
        unpickled: from the bytes of a row to the row.
    """

    def __init__(self, unpickled: Callable[[bytes], Any]) -> None:
        self._unpickled = unpickled
        self._before: bytes | None = None
        self._after = b""

    def value(self, pickled: bytes) -> bytes:
        """Return the value of a row."""
        before, after = self._before, self._after
        if before is not None and pickled.startswith(before) and pickled.endswith(after):
            begin = len(before) + _LENGTH_BYTES
            end = len(pickled) - len(after)
            # A pickle is a program: where it begins so and the text ends there, all of it is known.
            if int.from_bytes(pickled[len(before) : begin], "little") == end - begin:
                return pickled[begin:end].decode().encode("latin-1")
        value = bytes(self._unpickled(pickled)[0])
        if before is None:
            self._learn(pickled, value)
        return value

    def _learn(self, pickled: bytes, value: bytes) -> None:
        """Remember what stands around the value, if it stands there once, as a text."""
        text = value.decode("latin-1")
        places = [
            place
            for opcode, found, place in pickletools.genops(pickled)
            if opcode.name == _TEXT_NAME and found == text and place is not None
        ]
        if len(places) == 1:
            begin = places[0] + len(_TEXT)
            self._before = pickled[:begin]
            self._after = pickled[begin + _LENGTH_BYTES + len(text.encode()) :]

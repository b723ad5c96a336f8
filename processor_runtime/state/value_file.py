"""Values in a file of this machine, to which others are only added.

    values ──add──► where they are ──read──► values

Of several processes that add to one file each knows its own values. Those that nobody wants any
more take room until what is wanted is written to another file.
"""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np


class Span(NamedTuple):
    """Where a value is in a file, in bytes."""

    begin: int
    size: int


class ValueFile:
    """A file of values. All that it does may raise `OSError`.

    Args:
        path: of the file, which there may be or not.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("ab+", buffering=0)

    def add(self, values: Sequence[bytes]) -> list[Span]:
        """Add values; return where they are."""
        joined = b"".join(values)
        written = self._file.write(joined)
        if written != len(joined):
            raise OSError(f"{self.path} took {written} of {len(joined)} bytes")
        # The place after what this process wrote, wherever that was.
        sizes = [len(value) for value in values]
        begins = np.cumsum([self._file.tell() - len(joined), *sizes], dtype=np.int64)
        return list(map(Span, begins.tolist(), sizes))

    def read(self, spans: Iterable[Span]) -> list[bytes]:
        """Return the values at these places."""
        number = self._file.fileno()
        values = [os.pread(number, size, begin) for begin, size in spans]
        if [len(value) for value in values] != [size for _, size in spans]:
            raise OSError(f"{self.path} has been cut off")
        return values

    @property
    def size_bytes(self) -> int:
        """How many bytes it takes."""
        return os.fstat(self._file.fileno()).st_size

    def close(self) -> None:
        """Give the file back to the system."""
        self._file.close()

    def delete(self) -> None:
        """Delete it; whoever has it open still reads it."""
        self.close()
        self.path.unlink(missing_ok=True)

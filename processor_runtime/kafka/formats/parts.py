"""What readers of one schema give: columns as its fields are, and which values have none.

values of one schema ──RecordReader──► parts: rows, and a column for each field that is wanted
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

import polars as pl

Column = pl.Series | list[Any]
"""Values of a field in its own type; a list of Python's where Polars has no type for them."""

_LONGEST: Final = 300


class Part(NamedTuple):
    """Values that were read: their `rows`, and `columns` by names of fields, as long as those."""

    rows: Sequence[int]
    columns: Mapping[str, Column]


class RecordReader(Protocol):
    """How values of one schema are read."""

    def read(
        self, rows: Sequence[int], values: Sequence[bytes], unreadable: dict[int, str]
    ) -> list[Part]:
        """Return what values hold; add to `unreadable`, by row, why one cannot be read.

        `values`: with the magic byte and the id of the schema in front.
        """


def reason_of(error: Exception) -> str:
    """Return why a value cannot be read, in one line."""
    message = str(error).partition("\n")[0] or type(error).__name__
    return f"cannot be read: {message}"[:_LONGEST]

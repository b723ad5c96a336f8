"""Columns of texts that are put together of pieces, without an object for any of them.

table of pieces, places in it ──join_pieces──► texts
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import polars as pl
import pyarrow as pa

from cep.compiling import Ints

MOST_BYTES: Final = 64_000_000
"""Of a column of texts; there are some thousand."""

_IN_ONE_PIECE: Final = pl.CompatLevel.oldest()


class TooLarge(Exception):
    """Texts are too large to be in one column."""


def texts(values: Sequence[str | None]) -> pa.StringArray:
    """Return texts as a column."""
    return pa.array(values, pa.string())


def series_texts(values: pl.Series) -> pa.StringArray:
    """Return a column of texts as Spark has it.

    Raises:
        TooLarge: they are.
    """
    if values.str.len_bytes().sum() > MOST_BYTES:
        raise TooLarge
    return values.to_arrow(compat_level=_IN_ONE_PIECE).cast(pa.string())


def join_pieces(table: pa.StringArray, pieces: Ints, begin: Ints) -> pa.StringArray:
    """Return texts made of pieces.

    `pieces`: places in `table`, text by text. `begin`: where the pieces of each text begin; one
    more at the end.

    Raises:
        TooLarge: they are.
    """
    # Only here, as numba is an extra, and takes half a second to import.
    from processor_runtime.output.compiled import joining  # noqa: PLC0415

    borders = borders_of(table)
    begins = joining.joined_sizes(borders, pieces, begin)
    size = int(begins[-1])
    if size > MOST_BYTES:
        raise TooLarge
    data = pa.py_buffer(joining.join_octets(bytes_of(table), borders, pieces, size))
    return pa.StringArray.from_buffers(len(begin) - 1, pa.py_buffer(begins.astype(np.int32)), data)


def hexadecimal(digests: bytes, size: int) -> pa.StringArray:
    """Return digests of `size` bytes, which stand one after the other, as texts."""
    count = len(digests) // size
    borders = np.arange(count + 1, dtype=np.int32) * (2 * size)
    characters = pa.py_buffer(digests.hex().encode())
    return pa.StringArray.from_buffers(count, pa.py_buffer(borders), characters)


def byte_sizes(column: pa.StringArray) -> Ints:
    """Return how many bytes each text has; 0 for NULL."""
    return np.diff(_borders(column)).astype(np.int64)


def bytes_of(column: pa.StringArray) -> "np.ndarray[Any, np.dtype[np.uint8]]":
    """Return the texts of a column one after the other; not to be written to."""
    data = np.frombuffer(column.buffers()[2] or b"", np.uint8)
    # Compiled code is compiled for each sort of array: it is the same for all.
    data.setflags(write=False)
    return data


def borders_of(column: pa.StringArray) -> Ints:
    """Return where in `bytes_of` each text begins, and where the last ends."""
    return _borders(column).astype(np.int64)


def _borders(column: pa.StringArray) -> "np.ndarray[Any, np.dtype[np.int32]]":
    """Return where each text begins, and where the last ends."""
    begin = column.offset
    return np.frombuffer(column.buffers()[1], np.int32)[begin : begin + len(column) + 1]

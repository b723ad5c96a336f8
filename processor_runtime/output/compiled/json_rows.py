"""Compiled: thousands of rows of columns as JSON objects, all in one text.

numbers, texts, which are NULL ──objects_of──► rows one after the other, where each begins
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cep.compiling import Ints, compiled, in_place
from cep.compiling.byte_copying import Bytes, copy_bytes
from processor_runtime.output.compiled.pieces import (
    MOST_DIGITS,
    put,
    put_all,
    put_number,
    text_bytes,
)

NUMBER: Final = 0
TRUTH: Final = 1
QUOTED: Final = 2
WRITTEN: Final = 3
"""Kinds of columns: integers; 0 or 1; texts without characters that are escaped; JSON."""

_NULL: Final = text_bytes("null")
_TRUE: Final = text_bytes("true")
_FALSE: Final = text_bytes("false")
_SPACE: Final = ord(" ")
_QUOTE: Final = ord('"')
_BACKSLASH: Final = ord("\\")
_MOST_BESIDE_TEXT: Final = MOST_DIGITS


class JsonColumns(NamedTuple):
    """Columns of rows; there is one at least.

    Args:
        kinds: of each column, `NUMBER` or another.
        places: of each column, its place in `numbers` or in `begin`.
        is_null: whether values are NULL, as `[column, row]`.
        numbers: those of `NUMBER` and `TRUTH`, as `[place, row]`.
        data: all texts, one after the other.
        begin: where each begins, as `[place, row]`; one more at the end of each column.
        separators: what stands before the values of each column, and at the end of a row.
        separator_ends: where each of them begins; one more at the end.
    """

    kinds: Ints
    places: Ints
    is_null: NDArray[np.bool_]
    numbers: Ints
    data: Bytes
    begin: Ints
    separators: Bytes
    separator_ends: Ints


@compiled
def objects_of(columns: JsonColumns) -> tuple[Bytes, Ints]:
    """Return rows as JSON, one after the other, and where each begins; one more at the end."""
    count = columns.is_null.shape[1]
    borders = np.zeros(count + 1, np.int64)
    of_row = len(columns.separators) + len(columns.kinds) * _MOST_BESIDE_TEXT
    rows = np.empty(len(columns.data) + count * of_row, np.uint8)
    _write(columns, rows, borders)
    return rows[: borders[-1]], borders


@compiled
def has_escapes(text: Bytes) -> bool:
    """Return whether a text, as UTF-8, has characters that JSON escapes."""
    found = False
    for place in range(len(text)):
        octet = text[place]
        found |= (octet < _SPACE) | (octet == _QUOTE) | (octet == _BACKSLASH)
    return found


@in_place
def _write(columns: JsonColumns, rows: Bytes, borders: Ints) -> None:
    """Write rows, and where each ends."""
    place = 0
    for row in range(len(borders) - 1):
        for column in range(len(columns.kinds)):
            place = put(columns.separators, columns.separator_ends, column, rows, place)
            kind, where = columns.kinds[column], columns.places[column]
            if columns.is_null[column, row]:
                place = put_all(_NULL, rows, place)
            elif kind == NUMBER:
                place = put_number(columns.numbers[where, row], rows, place)
            elif kind == TRUTH:
                place = put_all(_TRUE if columns.numbers[where, row] else _FALSE, rows, place)
            else:
                if kind == QUOTED:
                    rows[place] = _QUOTE
                    place += 1
                first, last = columns.begin[where, row], columns.begin[where, row + 1]
                place = copy_bytes(columns.data, first, last, rows, place)
                if kind == QUOTED:
                    rows[place] = _QUOTE
                    place += 1
        place = put(columns.separators, columns.separator_ends, len(columns.kinds), rows, place)
        borders[row + 1] = place

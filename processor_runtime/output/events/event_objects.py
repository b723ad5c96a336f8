"""Many events as JSON objects, as compiled code writes them: the text of `plain_json_text`.

frame of events ──event_objects──► `{"user":"ana","amount":5}` per row, as Arrow has texts
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from cep.compiling import Ints
from cep.compiling.byte_copying import Bytes
from processor_runtime.output.arrow_texts import (
    MOST_BYTES,
    TooLarge,
    borders_of,
    bytes_of,
    series_texts,
    texts,
)
from processor_runtime.output.compiled.json_rows import (
    NUMBER,
    QUOTED,
    TRUTH,
    WRITTEN,
    JsonColumns,
    has_escapes,
    objects_of,
)
from processor_runtime.rows.json_text import plain_json_text

_FIT: Final = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32)
"""Integers that are numbers of compiled code."""


def event_objects(
    events: pl.DataFrame, values_of: Callable[[str], pa.StringArray]
) -> pa.StringArray:
    """Return each row as JSON.

    `values_of`: returns the values of a column as JSON; asked for those that are not written here.

    Raises:
        NoJson: there is something in it that JSON has no form for, or it is nested too deeply.
        TooLarge: they are.
    """
    if not events.width or not len(events):
        return texts(["{}"] * len(events))
    gathered = _Gathered(len(events))
    for column in events.iter_columns():
        gathered.add(column, values_of)
    columns = gathered.columns(events.columns)
    # Each row has all separators: what is far too large takes no room.
    if len(columns.data) + len(events) * len(columns.separators) > MOST_BYTES:
        raise TooLarge
    rows, borders = objects_of(columns)
    if len(rows) > MOST_BYTES:
        raise TooLarge
    begin = pa.py_buffer(borders.astype(np.int32))
    return pa.StringArray.from_buffers(len(events), begin, pa.py_buffer(rows))


@dataclass(slots=True)
class _Gathered:
    """Columns as compiled code has them."""

    count: int
    _kinds: list[int] = field(default_factory=list)
    _places: list[int] = field(default_factory=list)
    _is_null: list[NDArray[np.bool_] | bool] = field(default_factory=list)
    _numbers: list[Ints] = field(default_factory=list)
    _texts: list[tuple[Bytes, Ints]] = field(default_factory=list)

    def add(self, column: pl.Series, values_of: Callable[[str], pa.StringArray]) -> None:
        """Add a column; see `event_objects`."""
        if column.dtype in _FIT or column.dtype == pl.Boolean:
            self._kinds.append(TRUTH if column.dtype == pl.Boolean else NUMBER)
            self._places.append(len(self._numbers))
            self._numbers.append(column.cast(pl.Int64).fill_null(0).to_numpy())
            self._add_nulls(column)
            return
        if column.dtype == pl.String:
            written = _in_bytes(series_texts(column))
            if not has_escapes(written[0]):
                self._add_texts(QUOTED, written)
                self._add_nulls(column)
                return
        self._add_texts(WRITTEN, _in_bytes(values_of(column.name)))
        self._is_null.append(False)

    def _add_texts(self, kind: int, written: tuple[Bytes, Ints]) -> None:
        self._kinds.append(kind)
        self._places.append(len(self._texts))
        self._texts.append(written)

    def _add_nulls(self, column: pl.Series) -> None:
        self._is_null.append(column.is_null().to_numpy() if column.null_count() else False)

    def columns(self, names: Sequence[str]) -> JsonColumns:
        """Return them, with what stands between them."""
        is_null = np.zeros((len(names), self.count), np.bool_)
        for row, each in enumerate(self._is_null):
            is_null[row] = each
        begin = np.empty((len(self._texts), self.count + 1), np.int64)
        first = 0
        for row, (data, borders) in enumerate(self._texts):
            begin[row] = borders + first
            first += len(data)
        separators = [
            f"{',' if number else '{'}{plain_json_text(name)}:" for number, name in enumerate(names)
        ]
        separator_texts = texts([*separators, "}"])
        return JsonColumns(
            np.array(self._kinds, np.int64),
            np.array(self._places, np.int64),
            is_null,
            np.array(self._numbers, np.int64).reshape(-1, self.count),
            np.concatenate([*(data for data, _ in self._texts), np.empty(0, np.uint8)]),
            begin,
            bytes_of(separator_texts),
            borders_of(separator_texts),
        )


def _in_bytes(written: pa.StringArray) -> tuple[Bytes, Ints]:
    """Return the texts of a column one after the other and nothing else, and where each begins."""
    borders = borders_of(written)
    return bytes_of(written)[borders[0] : borders[-1]], borders - borders[0]

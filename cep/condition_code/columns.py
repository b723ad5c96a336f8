"""What conditions read of the rows of a frame, as arrays.

    frame ──polars──► values that conditions and aggregates read ──► Columns, ranks of constants

Texts become their rank among all texts of the call, so that they compare as integers do.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from cep.compiling import Ints
from cep.condition_code.arrays import Columns
from cep.condition_code.operands import Operands
from cep.expression import Kind, compile_columnar
from cep.expression.evaluation.isolation import evaluating


class FrameColumns:
    """Works out the columns of some operands.

    Args:
        operands: what is read.
    """

    def __init__(self, operands: Operands) -> None:
        schema = operands.schema
        self._texts = operands.texts
        self._columns = [*operands.int_columns, *operands.float_columns]
        self._expressions = [
            compile_columnar(column.node, schema).alias(f"{number}")
            for number, column in enumerate(self._columns)
        ]
        self._int_count = len(operands.int_columns)
        self.names = sorted({name for each in self._expressions for name in each.meta.root_names()})
        """The columns of frames that are read."""

    def of(self, frame: pl.DataFrame) -> tuple[Columns, dict[int, int]]:
        """Return the columns of a call, and the rank of each constant text by its place in `ints`.

        Raises:
            EvaluationError: polars cannot work them out.
        """
        with evaluating():
            values = frame.select(self._expressions).get_columns() if self._expressions else []
        values, ranks = self._ranked(values)
        ints = values[: self._int_count]
        floats = values[self._int_count :]
        columns = Columns(
            _stacked([_whole(series) for series in ints], len(frame), np.int64),
            _stacked([series.is_null().to_numpy() for series in ints], len(frame), np.bool_),
            _stacked([series.fill_null(0.0).to_numpy() for series in floats], len(frame), float),
            _stacked([series.is_null().to_numpy() for series in floats], len(frame), np.bool_),
        )
        return columns, ranks

    def _ranked(self, values: list[pl.Series]) -> tuple[list[pl.Series], dict[int, int]]:
        places = [n for n, column in enumerate(self._columns) if column.kind is Kind.STRING]
        if not places and not self._texts:
            return values, {}
        constants = pl.Series(list(self._texts.values()), dtype=pl.String)
        texts = pl.concat([constants, *(values[place] for place in places)])
        ranks = texts.rank("dense")
        begin = len(constants)
        of_constants = dict(zip(self._texts, ranks[:begin], strict=True))
        for place in places:
            values[place] = ranks[begin : begin + len(values[place])]
            begin += len(values[place])
        return values, of_constants


def _whole(series: pl.Series) -> Ints:
    if isinstance(series.dtype, pl.Datetime | pl.Duration):
        series = series.dt.cast_time_unit("us").to_physical()
    elif series.dtype.is_temporal():
        series = series.to_physical()
    return series.cast(pl.Int64).fill_null(0).to_numpy()


def _stacked(columns: Sequence[Any], height: int, dtype: type) -> Any:
    """Return columns as one array, by number and row."""
    return np.array(columns, dtype).reshape(len(columns), height)

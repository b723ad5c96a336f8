"""The frames of a result: their columns, and rows put into one.

BoundClause ──result_schema──► names and types · rows ──frame_of──► frame
"""

from collections.abc import Sequence
from typing import Any

import polars as pl

from cep.expression import Kind
from cep.expression.types import UNKNOWN, DataType, to_polars
from cep.row_pattern.bound import BoundClause


def result_schema(clause: BoundClause) -> list[tuple[str, pl.DataType]]:
    """Return names and types of the columns of the result.

    Raises:
        ValueError: a type has no form in a frame.
    """
    return [(name, to_polars(result_type(data_type))) for name, data_type in clause.columns]


def result_type(data_type: DataType) -> DataType:
    """Return the type of an output column; a column of nothing but NULL is one of texts."""
    return DataType(Kind.STRING) if data_type.is_open or data_type == UNKNOWN else data_type


def frame_of(
    rows: Sequence[tuple[Any, ...]], result: Sequence[tuple[str, pl.DataType]]
) -> pl.DataFrame:
    """Return rows as a frame whose columns are numbered: names may come twice in a result."""
    schema = {f"{place}": data_type for place, (_, data_type) in enumerate(result)}
    return pl.DataFrame(rows, schema=schema, orient="row")

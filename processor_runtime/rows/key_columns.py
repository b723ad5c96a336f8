"""The key of each event, column by column: a key selector applied to a frame.

key_by ──key_columns──► expressions ──keys_of(frame)──► keys ──key_hashing──► shards
"""

from collections.abc import Sequence
from functools import lru_cache

import polars as pl
import polars.selectors as cs

from cep.expression import (
    DataType,
    Expression,
    ExpressionError,
    Schema,
    compile_columnar,
    evaluating,
    key_problem,
    resolve,
)
from cep.expression.types import to_polars


@lru_cache
def key_columns(key_by: tuple[str, ...], schema: Schema) -> tuple[pl.Expr, ...]:
    """Return the columns of a key selector, named by place.

    Raises:
        ExpressionError: an expression does not fit the schema, or its values cannot be keys.
    """
    return tuple(_key_column(text, schema).alias(f"{place}") for place, text in enumerate(key_by))


@lru_cache
def key_types(key_by: tuple[str, ...], schema: Schema) -> tuple[pl.DataType, ...]:
    """Return the types of the values of a key selector that fits the schema, by place."""
    columns = {name: _stored_as(data_type) for name, data_type in schema.columns}
    keys = pl.DataFrame(schema=columns).select(key_columns(key_by, schema))
    return tuple(keys.dtypes)


def _stored_as(data_type: DataType) -> pl.DataType:
    try:
        return to_polars(data_type)
    except ValueError:  # no expression can read such a column
        return pl.Binary()


def keys_of(events: pl.DataFrame, columns: Sequence[pl.Expr]) -> pl.DataFrame:
    """Return the key of each event, such that equal keys have equal bytes.

    Raises:
        EvaluationError: polars fails on a value of one of the events.
    """
    # -0.0 becomes 0.0, which polars treats as equal here; NaN is not a key.
    with evaluating():
        return events.select(columns).with_columns(cs.float().fill_nan(None).replace(0.0, 0.0))


def _key_column(text: str, schema: Schema) -> pl.Expr:
    expression = Expression.parse(text)
    column = compile_columnar(resolve(expression, (), schema), schema)
    if problem := key_problem(expression, schema):
        raise ExpressionError(problem)
    return column

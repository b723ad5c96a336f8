"""Operands of columnar forms: a polars expression with its type, and how two of them are joined.

Read by `columnar`, which holds the forms, and by the columnar evaluator.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from cep.expression.functions.typing_rules import decimal_digits
from cep.expression.types import MAX_DECIMAL_PRECISION, DataType, Kind

NAIVE = pl.Datetime("us")

_EXACT_DOUBLE_DIGITS = 15


@dataclass(frozen=True, slots=True)
class Column:
    """An operand: its polars expression and type; `constant` is set if it is a literal.

    `is_leaf` says that it is stored in the frame, or a literal: to read it again costs nothing.
    """

    expression: pl.Expr
    data_type: DataType
    constant: Any = None
    is_leaf: bool = False

    @property
    def kind(self) -> Kind:
        """The kind of its type."""
        return self.data_type.kind


def computed_once(
    columns: tuple[Column, ...], result: pl.DataType, form: Callable[[tuple[Column, ...]], pl.Expr]
) -> pl.Expr:
    """Return a form that reads its operands more than once, so that each is computed once.

    polars writes out what a shared expression stands for wherever it is read: operands that share
    operands in turn would double the work at each level.
    """
    if all(column.is_leaf for column in columns):
        return form(columns)
    names = [f"_{index}" for index in range(len(columns))]
    stored = tuple(
        replace(column, expression=pl.col(name), is_leaf=True)
        for column, name in zip(columns, names, strict=True)
    )

    def compute(rows: pl.Series) -> pl.Series:
        return rows.struct.unnest().select(form(stored).alias(rows.name)).to_series()

    operands = [c.expression.alias(name) for c, name in zip(columns, names, strict=True)]
    return pl.struct(operands).map_batches(compute, return_dtype=result)


def as_double(column: Column) -> pl.Expr:
    """Return the number as DOUBLE, correctly rounded."""
    if column.constant is not None:
        return pl.lit(float(column.constant), dtype=pl.Float64)
    if column.kind is Kind.DECIMAL and column.data_type.precision > _EXACT_DOUBLE_DIGITS:
        # polars divides two rounded numbers, Python and Rust's parser round once.
        return column.expression.cast(pl.String).cast(pl.Float64)
    return column.expression.cast(pl.Float64)


def as_naive(column: Column) -> pl.Expr:
    """Return the point in time as a naive UTC timestamp, in which any two can be compared."""
    if column.kind is Kind.TIMESTAMP:
        return column.expression.dt.replace_time_zone(None)
    return column.expression.cast(NAIVE)


def as_decimals(left: Column, right: Column) -> tuple[pl.Expr, pl.Expr] | None:
    """Return both as decimals of one scale, `None` if 38 digits do not hold them."""
    whole, scale = room(left, right, max, max)
    if whole + scale > MAX_DECIMAL_PRECISION:
        return None
    target = pl.Decimal(MAX_DECIMAL_PRECISION, scale)
    return left.expression.cast(target), right.expression.cast(target)


def _digits(column: Column) -> tuple[int, int]:
    if column.kind is Kind.BIGINT and column.constant is not None:
        return len(str(abs(column.constant))), 0
    return decimal_digits(column.data_type)


def room(
    left: Column, right: Column, whole: Callable[[int, int], int], scale: Callable[[int, int], int]
) -> tuple[int, int]:
    """Return how many whole and fractional digits a number made of both may have."""
    (left_whole, left_scale), (right_whole, right_scale) = _digits(left), _digits(right)
    return whole(left_whole, right_whole), scale(left_scale, right_scale)

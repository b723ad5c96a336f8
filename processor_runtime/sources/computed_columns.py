"""The columns of a stream that are computed from what was read: `values:` of a source.

    frame as it was read ──ComputedColumns──► columns of the stream, rows for which it is impossible

Expressions are those of conditions, evaluated in columns; `job_file.computed` has checked them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import polars as pl

from cep.expression import (
    EvaluationError,
    Expression,
    Schema,
    compile_columnar,
    evaluating,
    resolve,
    working_parts,
)
from cep.expression.types import PolarsType

_NOTHING: Final = Schema(())
_FAILED: Final = "it cannot be computed"


@dataclass(frozen=True, slots=True)
class ComputedColumns:
    """Expressions over what is read.

    Args:
        read: the columns that they may read, and their types.
        texts: pairs of a column of the stream and its expression.
    """

    read: Schema = _NOTHING
    texts: tuple[tuple[str, str], ...] = ()

    def added_to(
        self, rows: pl.DataFrame, columns: Mapping[str, PolarsType]
    ) -> tuple[pl.DataFrame, dict[int, str]]:
        """Return rows with computed columns, and by row why it is no event.

        `columns`: the types of the columns of the stream.
        """
        reasons: dict[int, str] = {}
        for name, expression in _compiled(self):
            found = _evaluated(rows, expression, reasons, name)
            fitting = found.cast(columns[name], strict=False)
            misfits = (found.is_not_null() & fitting.is_null()).arg_true()
            for row in misfits.to_list():
                reasons.setdefault(row, f"does not fit the stream's schema: {name}")
            rows = rows.with_columns(fitting.alias(name))
        return rows, reasons


@lru_cache(maxsize=32)
def _compiled(computed: ComputedColumns) -> list[tuple[str, pl.Expr]]:
    trees = (
        (name, resolve(Expression.parse(text), (), computed.read)) for name, text in computed.texts
    )
    return [(name, compile_columnar(tree, computed.read)) for name, tree in trees]


def _evaluated(
    rows: pl.DataFrame, expression: pl.Expr, reasons: dict[int, str], name: str
) -> pl.Series:
    def evaluate(part: pl.DataFrame) -> pl.Series:
        with evaluating():
            return part.select(expression.alias(name)).to_series()

    try:
        return evaluate(rows)
    except EvaluationError:
        pass
    parts: list[pl.DataFrame] = []
    count = 0
    for part, failure in working_parts(rows, evaluate):
        if failure is None:
            parts.append(evaluate(part).to_frame())
        else:
            reasons.setdefault(count, f"{name}: {_FAILED}")
            parts.append(pl.DataFrame({name: [None]}))
        count += len(part)
    return pl.concat(parts, how="vertical_relaxed").to_series()

"""Lambdas over columns: all elements of all arrays are evaluated as the rows of one frame.

    rows of (array, what the body reads) ──explode──► rows of elements ──body──► results by row

Used by the columnar evaluator; the scalar meaning is `cep.expression.functions.array.APPLY`.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import polars as pl

from cep.expression.tree import HigherOrderFunction

_ELEMENTS_AT_ONCE: Final = 1_000_000
"""Nested lambdas multiply the elements, so they are not all in memory at a time."""
# No column of an event has such a name.
_ROW, _RESULT, _LENGTH = "\0row", "\0result", "\0length"


def variable_column(name: str) -> str:
    """Return the name of the column that holds a variable of a lambda."""
    return f"\0{name}"


def applied(
    function: HigherOrderFunction, elements: str, body: pl.Expr, result: pl.DataType
) -> Callable[[pl.Series], pl.Series]:
    """Return what computes a call from structs of its array, named `elements`, and other columns.

    `body` reads single elements from the column of this name.
    """
    collect = _COLLECT[function]
    empty = pl.lit(_OF_NO_ELEMENT.get(function, []), dtype=result)

    def compute(rows: pl.Series) -> pl.Series:
        count = rows.struct.field(elements).list.len().sum()
        if count > _ELEMENTS_AT_ONCE and len(rows) > 1:
            middle = len(rows) // 2
            return pl.concat([compute(rows[:middle]), compute(rows[middle:])])
        frame = rows.struct.unnest().lazy().with_row_index(_ROW)
        sizes = frame.select(_ROW, pl.col(elements).list.len().alias(_LENGTH))
        each = frame.filter(pl.col(elements).list.len() > 0).explode(elements)
        of_row = (
            each.with_columns(body.alias(_RESULT))
            .group_by(_ROW, maintain_order=True)
            .agg(collect(elements).alias(_RESULT))
        )
        length = pl.col(_LENGTH)
        known = pl.when(length > 0).then(pl.col(_RESULT).cast(result))
        whole = known.when(length == 0).then(empty)
        found = sizes.join(of_row, on=_ROW, how="left", maintain_order="left").select(whole)
        return found.collect().to_series().alias(rows.name)

    return compute


_COLLECT: Final[Mapping[HigherOrderFunction, Callable[[str], pl.Expr]]] = {
    HigherOrderFunction.EXISTS: lambda _: pl.col(_RESULT).any(ignore_nulls=False),
    HigherOrderFunction.FORALL: lambda _: pl.col(_RESULT).all(ignore_nulls=False),
    HigherOrderFunction.FILTER: lambda elements: pl.col(elements).filter(pl.col(_RESULT)),
    HigherOrderFunction.TRANSFORM: lambda _: pl.col(_RESULT),
}
"""What becomes of the results for one array that has elements; they are in order."""
_OF_NO_ELEMENT: Final[Mapping[HigherOrderFunction, Any]] = {
    HigherOrderFunction.EXISTS: False,
    HigherOrderFunction.FORALL: True,
}

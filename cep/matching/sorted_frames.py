"""MATCH_RECOGNIZE over frames that come sorted by partition and order: the fast way for history.

    frames ──► CompiledFrames, where the clause has a plan · InterpretedFrames ──► the result

Rows of a partition stand together, in the order of ORDER BY; a partition may go over from one frame
into the next.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import polars as pl

from cep.compiling import is_available
from cep.expression import Schema, columns_of, row_reader
from cep.matching.interpreted_frames import InterpretedFrames
from cep.matching.result_frames import result_schema
from cep.nfa.limits import Limits
from cep.row_pattern.bound import BoundClause, BoundExpression, Fold, ValueAt, references_of
from cep.row_pattern.clause import RowsPerMatch
from cep.row_search.search import RowPatternSearch

if TYPE_CHECKING:
    from cep.matching.compiled_frames import CompiledFrames

ROWS_AT_ONCE: Final = 200_000
"""How many rows the compiled search is given in a call."""


class SortedFrames:
    """The rows of a clause over frames of sorted rows, in calls of `rows_at_once`.

    The frames have the `needed_columns` of the input. `compiles` says whether the compiled search
    may be used, where the machine has numba and the clause nothing that is not compiled.

    Raises:
        ValueError: the type of an output column has no form in a frame.
    """

    def __init__(
        self,
        clause: BoundClause,
        schema: Schema,
        limits: Limits | None = None,
        *,
        compiles: bool = True,
        rows_at_once: int = ROWS_AT_ONCE,
    ) -> None:
        names = tuple(name for name, _ in schema.columns)
        search = RowPatternSearch(clause, row_reader(names), limits)
        self.schema = result_schema(clause)
        compiled = _compiled(search, schema, self.schema, rows_at_once) if compiles else None
        self.is_compiled = compiled is not None
        self._frames = compiled or InterpretedFrames(search, schema, self.schema)

    def process(self, frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Take the next rows; yield rows of the result.

        Raises:
            RowPatternFailure: the query fails on these rows.
            LimitExceeded: a partition would hold too much.
        """
        return self._frames.process(frame)

    def end(self) -> Iterator[pl.DataFrame]:
        """End the last partition; yield the rest of the result."""
        return self._frames.end()


def _compiled(
    search: RowPatternSearch,
    schema: Schema,
    result: list[tuple[str, pl.DataType]],
    rows_at_once: int,
) -> "CompiledFrames | None":
    if not is_available():
        return None
    # Only here, as numba is an extra, and takes half a second to import.
    from cep.matching.compiled_frames import CompiledFrames  # noqa: PLC0415
    from cep.row_kernel.plan import plan_of  # noqa: PLC0415

    plan = plan_of(search.program, schema)
    return None if plan is None else CompiledFrames(search, plan, schema, result, rows_at_once)


def needed_columns(clause: BoundClause, schema: Schema) -> tuple[str, ...]:
    """Return the columns of the input that a clause reads or outputs, in order of the schema."""
    if clause.rows_per_match is not RowsPerMatch.ONE_ROW:
        return tuple(name for name, _ in schema.columns)
    read = {*clause.partition_by, *(name for name, _ in clause.order_by)}
    for expression in clause.expressions():
        read |= _read(expression)
    # Without a column a frame has no rows.
    needed = tuple(name for name, _ in schema.columns if name in read)
    return needed or (schema.columns[0][0],)


def _read(expression: BoundExpression) -> set[str]:
    read = columns_of(expression.node)
    for reference in references_of(expression):
        if isinstance(reference, ValueAt | Fold) and reference.value is not None:
            read |= columns_of(reference.value.node)
    return read

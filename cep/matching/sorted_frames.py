"""MATCH_RECOGNIZE over frames that come sorted by partition and order: the fast way for history.

    frames ──row tests, columnar──► runs of one partition ──RowPatternSearch──► frames of the result

Rows of a partition stand together, in the order of ORDER BY; a partition may go over from one frame
into the next. Only what the clause reads becomes rows of Python.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import polars as pl

from cep.expression import Kind, Schema, columns_of, compile_columnar, row_reader
from cep.expression.types import UNKNOWN, DataType, to_polars
from cep.matching.match_recognize import time_ms_of
from cep.nfa.limits import Limits
from cep.row_pattern.bound import BoundClause, BoundExpression, Fold, ValueAt, references_of
from cep.row_pattern.clause import RowsPerMatch
from cep.row_search.matched import MatchedRows
from cep.row_search.output import RowOutput
from cep.row_search.partition import Partition
from cep.row_search.search import RowPatternSearch

_NEVER: Final = 2**62
_ROWS_PER_FRAME: Final = 16_384


class SortedFrames:
    """The rows of a clause over frames of sorted rows.

    Args:
        clause: the clause.
        schema: the columns of the frames, `needed_columns` of the input.
        limits: how many candidates, and rows, a partition may hold.

    Raises:
        ValueError: the type of an output column has no form in a frame.
    """

    def __init__(self, clause: BoundClause, schema: Schema, limits: Limits | None = None) -> None:
        names = tuple(name for name, _ in schema.columns)
        reader = row_reader(names)
        self._names = names
        self._clause = clause
        self._search = RowPatternSearch(clause, reader, limits)
        self._output = RowOutput(clause, reader)
        self._tests = _row_tests(self._search, schema)
        self._key = [names.index(name) for name in clause.partition_by]
        self._partition = Partition()
        self._current: tuple[Any, ...] | None = None
        self.schema = result_schema(clause)
        self._waiting: list[tuple[Any, ...]] = []

    def process(self, frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Take the next rows; yield rows of the result.

        Raises:
            RowPatternFailure: the query fails on these rows.
            LimitExceeded: a partition would hold too much.
        """
        if not len(frame):
            return
        known, true = self._bits(frame)
        rows = frame.select(self._names).rows()
        times = self._times(frame)
        for begin, end in self._runs(frame):
            key = tuple(rows[begin][place] for place in self._key)
            if key != self._current:
                self._end_partition()
                self._current = key
            self._partition.extend(
                rows[begin:end], times[begin:end], known[begin:end], true[begin:end]
            )
            self._take(self._search.run(self._partition))
            yield from self._full()

    def end(self) -> Iterator[pl.DataFrame]:
        """End the last partition; yield the rest of the result."""
        self._end_partition()
        yield from self._full(at_least=1)

    def _end_partition(self) -> None:
        self._take(self._search.run(self._partition, is_ended=True))
        self._partition = Partition()

    def _take(self, found: Sequence[MatchedRows]) -> None:
        for each in found:
            self._waiting.extend(self._output.rows(each))

    def _full(self, at_least: int = _ROWS_PER_FRAME) -> Iterator[pl.DataFrame]:
        if len(self._waiting) >= at_least:
            # Names may come twice in a result, but not in a frame.
            places = [f"{place}" for place in range(len(self.schema))]
            types = dict(zip(places, (kind for _, kind in self.schema), strict=True))
            yield pl.DataFrame(self._waiting, schema=types, orient="row")
            self._waiting = []

    def _runs(self, frame: pl.DataFrame) -> Iterator[tuple[int, int]]:
        """Yield where rows of one partition begin and end in a frame."""
        if not self._key:
            yield 0, len(frame)
            return
        keys = frame.select(self._names[place] for place in self._key)
        changes = keys.select(pl.struct(pl.all()).rle_id()).to_series()
        starts = (changes.diff().fill_null(1) != 0).arg_true().to_list()
        yield from zip(starts, [*starts[1:], len(frame)], strict=True)

    def _bits(self, frame: pl.DataFrame) -> tuple[list[int], list[int]]:
        """Return `known` and `true` of each row; see `Partition`."""
        tested = [test for test in self._tests if test is not None]
        answers = iter(frame.select(test.alias(f"{i}") for i, test in enumerate(tested)))
        passed = [
            None if test is None else next(answers).fill_null(value=False) for test in self._tests
        ]
        known = true = pl.repeat(0, len(frame), dtype=pl.Int64, eager=True)
        for variable, (condition, holds) in enumerate(
            zip(self._search.program.conditions, passed, strict=True)
        ):
            bit = 1 << variable
            if condition.residual is None:
                known += bit
                true += bit if holds is None else holds.cast(pl.Int64) * bit
            elif holds is not None:
                known += (~holds).cast(pl.Int64) * bit
        return known.to_list(), true.to_list()

    def _times(self, frame: pl.DataFrame) -> list[int]:
        if self._clause.within_ms is None:
            return [0] * len(frame)
        column = frame.get_column(self._clause.order_by[0][0])
        if column.dtype.is_integer():
            return column.fill_null(_NEVER).to_list()
        if isinstance(column.dtype, pl.Datetime):
            return column.dt.epoch("ms").fill_null(_NEVER).to_list()
        return [_NEVER if value is None else time_ms_of(value) for value in column]


def needed_columns(clause: BoundClause, schema: Schema) -> tuple[str, ...]:
    """Return the columns of the input that a clause reads or outputs, in order of the schema."""
    if clause.rows_per_match is not RowsPerMatch.ONE_ROW:
        return tuple(name for name, _ in schema.columns)
    read = {*clause.partition_by, *(name for name, _ in clause.order_by)}
    expressions = [*(c for c in clause.conditions if c), *(m for _, m in clause.measures)]
    for expression in expressions:
        read |= _read(expression)
    return tuple(name for name, _ in schema.columns if name in read)


def result_schema(clause: BoundClause) -> list[tuple[str, pl.DataType]]:
    """Return names and types of the columns of the result.

    Raises:
        ValueError: a type has no form in a frame.
    """
    return [(name, to_polars(result_type(data_type))) for name, data_type in clause.columns]


def result_type(data_type: DataType) -> DataType:
    """Return the type of an output column; a column of nothing but NULL is one of texts."""
    return DataType(Kind.STRING) if data_type.is_open or data_type == UNKNOWN else data_type


def _read(expression: BoundExpression) -> set[str]:
    read = columns_of(expression.node)
    for reference in references_of(expression):
        if isinstance(reference, ValueAt | Fold) and reference.value is not None:
            read |= columns_of(reference.value.node)
    return read


def _row_tests(search: RowPatternSearch, schema: Schema) -> list[pl.Expr | None]:
    return [
        None if test is None else compile_columnar(test, schema)
        for test in search.program.row_tests
    ]

"""MATCH_RECOGNIZE over frames that come sorted by partition and order: the fast way for history.

    frames ──row tests, columnar──► runs of one partition ──RowPatternSearch──► frames of the result

Rows of a partition stand together, in the order of ORDER BY; a partition may go over from one frame
into the next. Only what the clause reads becomes rows of Python, and only of partitions in which a
match can begin.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import polars as pl

from cep.expression import Kind, Schema, columns_of, compile_columnar, row_reader
from cep.expression.types import UNKNOWN, DataType, to_polars
from cep.matching.row_times import NEVER_MS, time_ms_of
from cep.nfa.limits import Limits
from cep.row_pattern.bound import BoundClause, BoundExpression, Fold, ValueAt, references_of
from cep.row_pattern.clause import RowsPerMatch
from cep.row_search.matched import MatchedRows
from cep.row_search.openings import openings
from cep.row_search.output import RowOutput
from cep.row_search.partition import Partition
from cep.row_search.search import RowPatternSearch

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
        self._openings = openings(self._search.program)
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
        bits = self._bits(frame)
        runs = self._runs(frame)
        if self._openings and self._key:
            hopeful = self._hopeful(bits, runs)
            frame, bits, runs = frame.filter(hopeful), bits.filter(hopeful), runs.filter(hopeful)
        known, true = bits.get_column("known").to_list(), bits.get_column("true").to_list()
        rows = frame.select(self._names).rows()
        times = self._times(frame)
        for begin, end in _bounds(runs):
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

    def _runs(self, frame: pl.DataFrame) -> pl.Series:
        """Return the number of the run of one partition that each row is in."""
        if not self._key:
            return pl.repeat(0, len(frame), dtype=pl.UInt32, eager=True)
        keys = frame.select(self._names[place] for place in self._key)
        return keys.select(pl.struct(pl.all()).rle_id()).to_series()

    def _hopeful(self, bits: pl.DataFrame, runs: pl.Series) -> pl.Series:
        """Return of each row whether a match can begin in its run.

        The first and the last run may have rows in other frames, so they are left as they are.
        """
        can_be = bits.get_column("true") | ~bits.get_column("known")
        begins = pl.repeat(value=True, n=len(runs), eager=True)
        for depth, variables in enumerate(self._openings):
            is_possible = ((can_be & variables) != 0) & (runs.shift(depth) == runs)
            begins &= is_possible.shift(-depth).fill_null(value=False)
        run = pl.col("run")
        at_the_edge = (run == run.first()) | (run == run.last())
        hopeful = at_the_edge | pl.col("begins").any().over("run")
        return pl.DataFrame({"run": runs, "begins": begins}).select(hopeful).to_series()

    def _bits(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the columns `known` and `true`; see `Partition`."""
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
        return pl.DataFrame({"known": known, "true": true})

    def _times(self, frame: pl.DataFrame) -> list[int]:
        if self._clause.within_ms is None:
            return [0] * len(frame)
        column = frame.get_column(self._clause.order_by[0][0])
        if column.dtype.is_integer():
            return column.fill_null(NEVER_MS).to_list()
        if isinstance(column.dtype, pl.Datetime):
            return column.dt.epoch("ms").fill_null(NEVER_MS).to_list()
        return [NEVER_MS if value is None else time_ms_of(value) for value in column]


def _bounds(runs: pl.Series) -> Iterator[tuple[int, int]]:
    """Yield where the rows of each run begin and end."""
    starts = (runs.diff().fill_null(1) != 0).arg_true().to_list()
    return zip(starts, [*starts[1:], len(runs)], strict=True)


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

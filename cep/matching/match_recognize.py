"""MATCH_RECOGNIZE over a list of rows: for tests, documentation and history.

    clause + rows ──► partitions, sorted ──RowPatternSearch──► RowOutput ──► RecognizedRows

Source: ISO/IEC 9075-2 feature R010.
"""

import math
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

from cep.events.frames import rows_of, table_of
from cep.events.table import UnreadableEvents
from cep.expression import EvaluationError, Predicate, Schema, compile_predicate, row_reader
from cep.expression.types import DataType
from cep.html_tables import table
from cep.instants import NEVER_MS, time_ms_of
from cep.nfa.limits import Limits
from cep.row_pattern.analysis.analyse import analyse, selected
from cep.row_pattern.bound import BoundClause
from cep.row_pattern.parsing.clauses import read_query
from cep.row_search.errors import failure_of
from cep.row_search.matched import RowOutcome
from cep.row_search.output import RowOutput
from cep.row_search.partition import Partition
from cep.row_search.search import RowPatternSearch

Row = Sequence[Any] | Mapping[str, Any]
Columns = Schema | Mapping[str, str] | str


@dataclass(frozen=True, slots=True)
class RecognizedRows:
    """The result of a query: the names of its columns, and its rows as tuples.

    Rows are in the order of their partitions' first rows, then of the matches. `matches` counts
    those, empty ones included; `open_at_end` those that only the end of the rows has decided: with
    later rows they could be others. `never` are variables that no row can be, whatever is matched
    before it.
    """

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    matches: int = 0
    open_at_end: int = 0
    never: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows)

    def dicts(self) -> list[dict[str, Any]]:
        """Return the rows as dicts by column."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def _repr_html_(self) -> str:
        return table(self.columns, self.rows, len(self.rows), "" if self.rows else "no rows")


def match_recognize(
    clause: str, rows: Iterable[Row], *, schema: Columns | None = None, limits: Limits | None = None
) -> RecognizedRows:
    """Return the result of `SELECT * FROM rows MATCH_RECOGNIZE (...)`.

    Args:
        clause: the clause alone, or a whole `SELECT ... FROM name MATCH_RECOGNIZE (...)`.
        rows: sequences in the order of the schema, or mappings, where a missing column is NULL; or
            a frame of Polars, pandas or Arrow. Within a partition they are sorted by ORDER BY;
            ties keep their order, NULLs come last.
        schema: the columns: a `Schema`, a mapping from name to type, or a text in DDL; those of a
            frame need not be given. Values of TIMESTAMP are datetimes, or integers as milliseconds
            since 1970 in UTC.
        limits: how many candidates a partition may hold; the rows are all there in any case.

    Raises:
        ClauseError: the clause is not well formed, or does not fit the schema.
        UnreadableEvents: the rows are a frame that cannot be read, or show no columns.
        RowPatternFailure: the query fails on these rows.
        LimitExceeded: a partition would hold too much.
    """
    known, rows = _read(rows, schema)
    query = read_query(clause)
    bound = analyse(query.clause, known)
    names = tuple(name for name, _ in known.columns)
    reader = row_reader(names)
    search = RowPatternSearch(bound, reader, replace(limits or Limits(), events=sys.maxsize))
    output = RowOutput(bound, reader)
    tests = [
        None if node is None else compile_predicate(node, reader)
        for node in search.program.row_tests
    ]
    recognized: list[tuple[Any, ...]] = []
    matches = open_at_end = 0
    possible = [False] * len(tests)
    partitions = list(_partitions(bound, names, rows))
    times = (time_ms for rows in partitions for _, time_ms in rows if time_ms != NEVER_MS)
    newest_ms = max(times, default=None)
    for ordered in partitions:
        partition = Partition()
        for row, time_ms in ordered:
            passed = _passed(tests, row)
            possible = [before or holds for before, holds in zip(possible, passed, strict=True)]
            partition.append(row, time_ms, *search.program.row_bits(passed))
        decided = search.run(partition, time_ms=newest_ms)
        at_end = search.run(partition, is_ended=True)
        matches += partition.matches
        open_at_end += sum(found.kind is RowOutcome.MATCH for found in at_end)
        for found in (*decided, *at_end):
            recognized.extend(output.rows(found))
    columns = selected(query, [name for name, _ in bound.columns])
    if query.columns is not None:
        recognized = [tuple(row[place] for place, _ in columns) for row in recognized]
    possible = possible if partitions else [True] * len(tests)
    never = (name for name, can_be in zip(bound.variables, possible, strict=True) if not can_be)
    selected_names = tuple(name for _, name in columns)
    return RecognizedRows(selected_names, recognized, matches, open_at_end, tuple(never))


def _passed(tests: Sequence[Predicate | None], row: tuple[Any, ...]) -> list[bool]:
    try:
        return [test is None or test(row, ()) for test in tests]
    except EvaluationError as error:
        raise failure_of(error, "a condition in DEFINE") from error


def _read(rows: Iterable[Row], schema: Columns | None) -> tuple[Schema, Iterable[Row]]:
    if schema is not None:
        return _schema(schema), rows_of(rows)
    table = table_of(rows)
    if table is None:
        raise UnreadableEvents("give the schema of the rows; only frames show theirs")
    return table.schema, table.rows


def _schema(columns: Columns) -> Schema:
    if isinstance(columns, Schema):
        return columns
    if isinstance(columns, str):
        return Schema.from_ddl(columns)
    types: list[tuple[str, DataType]] = []
    for name, data_type in columns.items():
        ((_, found),) = Schema.from_ddl(f"c {data_type}").columns
        types.append((name, found))
    return Schema(tuple(types))


def _partitions(
    clause: BoundClause, names: tuple[str, ...], rows: Iterable[Row]
) -> Iterator[list[tuple[tuple[Any, ...], int]]]:
    """Yield the rows of each partition in order, with their times in milliseconds."""
    key = [names.index(name) for name in clause.partition_by]
    partitions: dict[Hashable, list[tuple[Any, ...]]] = {}
    for row in rows:
        values = tuple(row.get(n) for n in names) if isinstance(row, Mapping) else tuple(row)
        if len(values) != len(names):
            raise ValueError(f"a row has {len(values)} values, the schema {len(names)} columns")
        partitions.setdefault(tuple(_same_nan(values[p]) for p in key), []).append(values)
    time = names.index(clause.order_by[0][0]) if clause.within_ms is not None else None
    for partition in partitions.values():
        for name, is_descending in reversed(clause.order_by):
            _sort(partition, names.index(name), is_descending=is_descending)
        if time is None:
            yield [(row, 0) for row in partition]
        else:
            times = (NEVER_MS if row[time] is None else time_ms_of(row[time]) for row in partition)
            yield list(zip(partition, times, strict=True))


def _sort(rows: list[tuple[Any, ...]], place: int, *, is_descending: bool) -> None:
    """Sort by a column, stable also where descending; NULLs come last, NaN is the greatest."""
    present = [row for row in rows if row[place] is not None]
    absent = [row for row in rows if row[place] is None]
    key: Callable[[tuple[Any, ...]], Any] = itemgetter(place)
    if any(_is_nan(row[place]) for row in present):
        key = lambda row: (_is_nan(row[place]), row[place])  # noqa: E731
    present.sort(key=key, reverse=is_descending)
    rows[:] = present + absent


def _is_nan(value: Any) -> bool:
    return type(value) is float and value != value  # noqa: PLR0124 - only NaN differs from itself


def _same_nan(value: Any) -> Any:
    """Return a value, NaN as one object: as a key it equals itself, as in Spark."""
    return math.nan if _is_nan(value) else value

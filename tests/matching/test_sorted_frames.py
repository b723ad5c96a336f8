"""The answers of the standard over frames of sorted rows, cut anywhere."""

from operator import attrgetter
from random import Random
from typing import Any

import polars as pl
import pytest

from cep.expression import Schema
from cep.matching.sorted_frames import SortedFrames, needed_columns
from cep.row_pattern.analysis.analyse import analyse
from cep.row_pattern.bound import BoundClause
from cep.row_pattern.parsing.clauses import read_query
from tests.row_pattern.cases import FILES, Case, load, same_rows

CASES = [case for file in FILES for case in load(file) if case.error is None]


def sorted_frame(case: Case, clause: BoundClause, schema: Schema) -> pl.DataFrame:
    """Return the rows of a case by partition, in order; ties as they come, NULLs last."""
    frame = pl.DataFrame(list(case.rows), schema=schema.to_polars(), orient="row")
    columns = [*clause.partition_by, *(name for name, _ in clause.order_by), "_arrival"]
    descending = [False for _ in clause.partition_by] + [down for _, down in clause.order_by]
    return frame.with_row_index("_arrival").sort(
        columns, descending=[*descending, False], nulls_last=True
    )


def check(case: Case) -> None:
    types = {name: "BIGINT" if kind == "TIMESTAMP" else kind for name, kind in case.columns.items()}
    schema = Schema.from_ddl(", ".join(f"`{name}` {kind}" for name, kind in types.items()))
    clause = analyse(read_query(case.query).clause, schema)
    needed = needed_columns(clause, schema)
    rows = sorted_frame(case, clause, schema).select(needed)
    frames = SortedFrames(clause, Schema(tuple(c for c in schema.columns if c[0] in needed)))
    size = Random(case.id).randint(1, 6)  # noqa: S311 - any cut, but always the same
    found: list[tuple[Any, ...]] = []
    for begin in range(0, len(rows), size):
        for part in frames.process(rows[begin : begin + size]):
            found += part.rows()
    for part in frames.end():
        found += part.rows()
    assert same_rows(case, found), found


@pytest.mark.parametrize("case", CASES[::5], ids=attrgetter("id"))
def test_frames_cut_anywhere_give_the_answer_of_the_standard(case: Case) -> None:
    check(case)


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=attrgetter("id"))
def test_frames_cut_anywhere_give_every_answer_of_the_standard(case: Case) -> None:
    check(case)


def test_only_what_is_read_becomes_rows_of_python() -> None:
    schema = Schema.from_ddl("user STRING, ts BIGINT, a BIGINT, b BIGINT, c BIGINT")
    text = """MATCH_RECOGNIZE (PARTITION BY user ORDER BY ts MEASURES SUM(A.a) AS s
        PATTERN (A+ B) DEFINE A AS a > LAST(A.a, 1), B AS b = 1)"""
    clause = analyse(read_query(text).clause, schema)
    assert needed_columns(clause, schema) == ("user", "ts", "a", "b")

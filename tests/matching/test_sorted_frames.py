"""The answers of the standard over frames of sorted rows, cut anywhere."""

from random import Random
from typing import Any

import polars as pl
import pytest

from cep.expression import Schema, row_reader
from cep.matching.interpreted_frames import openings
from cep.matching.match_recognize import match_recognize
from cep.matching.sorted_frames import SortedFrames, needed_columns
from cep.row_pattern.analysis.analyse import analyse
from cep.row_pattern.bound import BoundClause
from cep.row_pattern.parsing.clauses import read_query
from cep.row_search.partition import Partition
from cep.row_search.program import RowProgram
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


def is_answered(case: Case, *, compiles: bool) -> bool:
    """Return whether frames give the answer of a case."""
    types = {name: "BIGINT" if kind == "TIMESTAMP" else kind for name, kind in case.columns.items()}
    schema = Schema.from_ddl(", ".join(f"`{name}` {kind}" for name, kind in types.items()))
    clause = analyse(read_query(case.query).clause, schema)
    needed = needed_columns(clause, schema)
    rows = sorted_frame(case, clause, schema).select(needed)
    random = Random(case.id)  # noqa: S311 - any cut, but always the same
    size = random.randint(1, 6)
    frames = SortedFrames(
        clause,
        Schema(tuple(c for c in schema.columns if c[0] in needed)),
        compiles=compiles,
        rows_at_once=random.randint(1, 12),
    )
    found: list[tuple[Any, ...]] = []
    for begin in range(0, len(rows), size):
        for part in frames.process(rows[begin : begin + size]):
            found += part.rows()
    for part in frames.end():
        found += part.rows()
    return same_rows(case, found)


@pytest.mark.long
@pytest.mark.parametrize("compiles", [True, False], ids=["compiled", "interpreted"])
@pytest.mark.parametrize(
    "cases",
    [
        pytest.param(CASES[::10], id="gate"),
        pytest.param(CASES, id="all", marks=pytest.mark.nightly),
    ],
)
def test_frames_cut_anywhere_give_the_answer_of_the_standard(
    cases: list[Case], *, compiles: bool
) -> None:
    differing = [case.id for case in cases if not is_answered(case, compiles=compiles)]
    assert differing == []


def test_only_what_is_read_becomes_rows_of_python() -> None:
    schema = Schema.from_ddl("user STRING, ts BIGINT, a BIGINT, b BIGINT, c BIGINT")
    text = """MATCH_RECOGNIZE (PARTITION BY user ORDER BY ts MEASURES SUM(A.a) AS s
        PATTERN (A+ B) DEFINE A AS a > LAST(A.a, 1), B AS b = 1)"""
    clause = analyse(read_query(text).clause, schema)
    assert needed_columns(clause, schema) == ("user", "ts", "a", "b")


OPENINGS = [
    ("A{2} B C", "A AS kind = 'a', B AS kind = 'b', C AS kind = 'c'", ["A", "A", "B", "C"]),
    ("A B* C", "A AS kind = 'a', B AS kind = 'b', C AS kind = 'c'", ["A", "BC"]),
    ("(A | B C) A", "A AS kind = 'a', B AS kind = 'b', C AS kind = 'c'", ["AB", "AC"]),
    ("A B C", "A AS kind = 'a', B AS n > LAST(A.n), C AS kind = 'c'", ["A", "B"]),
    ("A B C $", "A AS kind = 'a', B AS NEXT(n) > n, C AS kind = 'c'", ["A", "B"]),
    ("A B? X", "A AS kind = 'a', B AS 10 / n > 3", ["A", "BX"]),
    ("^ A B", "A AS kind = 'a', B AS kind = 'b'", []),
    ("A*", "A AS kind = 'a'", []),
]
SMALL = Schema.from_ddl("user BIGINT, ts BIGINT, kind STRING, n BIGINT")


def clause_of(pattern: str, define: str) -> str:
    return f"""MATCH_RECOGNIZE (PARTITION BY user ORDER BY ts
        MEASURES MATCH_NUMBER() AS number, FIRST(ts) AS first_ts, LAST(ts) AS last_ts
        PATTERN ({pattern}) DEFINE {define})"""


@pytest.mark.parametrize(("pattern", "define", "expected"), OPENINGS)
def test_the_rows_that_a_match_opens_with(pattern: str, define: str, expected: list[str]) -> None:
    clause = analyse(read_query(clause_of(pattern, define)).clause, SMALL)
    program = RowProgram(clause, row_reader(tuple(name for name, _ in SMALL.columns)))
    bits = [sum(1 << clause.variables.index(name) for name in names) for names in expected]
    assert openings(program) == tuple(bits)


@pytest.mark.parametrize(("pattern", "define", "_expected"), OPENINGS)
@pytest.mark.parametrize("size", [7, 60, 1_000])
def test_partitions_passed_over_have_no_match(
    pattern: str, define: str, _expected: list[str], size: int
) -> None:
    random = Random(pattern)  # noqa: S311 - any rows, but always the same
    kinds = ["a", "a", "b", "c", "d", None]
    rows = sorted(
        (random.randrange(150), ts, random.choice(kinds), random.randrange(1, 5))
        for ts in range(1_500)
    )
    text = clause_of(pattern, define)
    frames = SortedFrames(analyse(read_query(text).clause, SMALL), SMALL)
    frame = pl.DataFrame(rows, schema=SMALL.to_polars(), orient="row")
    parts = [part for cut in frame.iter_slices(size) for part in frames.process(cut)]
    found = [row for part in [*parts, *frames.end()] for row in part.rows()]
    expected = match_recognize(text, rows, schema=SMALL).rows
    assert expected
    assert found == expected


def test_a_partition_in_which_no_match_can_begin_does_not_become_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searched: list[tuple[Any, ...]] = []
    extend = Partition.extend

    def watched(partition: Partition, rows: Any, *others: Any) -> None:
        searched.extend(rows)
        extend(partition, rows, *others)

    monkeypatch.setattr(Partition, "extend", watched)
    text = clause_of("A B", "A AS kind = 'a', B AS kind = 'b'")
    frames = SortedFrames(analyse(read_query(text).clause, SMALL), SMALL, compiles=False)
    kinds = ["dd", "ab", "ba", "aa", "da", "bd", "cab", "dd"]
    rows = [(user, ts, kind, 1) for user, row in enumerate(kinds) for ts, kind in enumerate(row)]
    frame = pl.DataFrame(rows, schema=SMALL.to_polars(), orient="row")
    found = [row for part in [*frames.process(frame), *frames.end()] for row in part.rows()]
    assert found == [(1, 1, 0, 1), (6, 1, 1, 2)]
    assert {row[0] for row in searched} == {0, 1, 6, 7}


def test_rows_count_although_nothing_of_them_is_read() -> None:
    text = "MATCH_RECOGNIZE (MEASURES 1 AS c PATTERN (A B) DEFINE A AS 1 = 1)"
    clause = analyse(read_query(text).clause, SMALL)
    assert needed_columns(clause, SMALL) == ("user",)
    frames = SortedFrames(clause, Schema(SMALL.columns[:1]))
    found = [*frames.process(pl.DataFrame({"user": [1, 1, 1]})), *frames.end()]
    assert [part.rows() for part in found] == [[(1,)]]

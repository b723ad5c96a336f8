"""The compiled search against the interpreting one, over the same frames cut anywhere.

200 times as many examples: PERCEPT_EXAMPLE_FACTOR=200 pytest FILE
"""

import itertools
import math
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from hypothesis import event, given, reject
from hypothesis import strategies as st

from cep.expression import Schema
from cep.matching.sorted_frames import SortedFrames
from cep.nfa.errors import LimitExceeded
from cep.nfa.limits import Limits
from cep.row_kernel.measures import measure
from cep.row_kernel.walk import search
from cep.row_pattern.analysis.analyse import analyse
from cep.row_pattern.parsing.clauses import read_query
from cep.row_search.errors import RowPatternFailure
from tests.row_pattern.brute_force.strategies import Query, queries

pytest.importorskip("numba")

DDL = "g STRING, t BIGINT, p BIGINT, q DOUBLE, s STRING"
Answer = tuple[list[tuple[Any, ...]], str | None]


def answer(  # noqa: PLR0913 - independent options, by name
    clause: str,
    frame: pl.DataFrame,
    schema: Schema,
    *,
    compiles: bool,
    cut: int = 10_000,
    at_once: int = 10_000,
    limits: Limits | None = None,
) -> tuple[Answer, bool]:
    """Return the rows of the result, and the code of the failure; and whether it was compiled."""
    bound = analyse(read_query(clause).clause, schema)
    frames = SortedFrames(bound, schema, limits, compiles=compiles, rows_at_once=at_once)
    rows: list[tuple[Any, ...]] = []
    try:
        for begin in range(0, len(frame), cut):
            for part in frames.process(frame[begin : begin + cut]):
                rows += part.rows()
        for part in frames.end():
            rows += part.rows()
    except RowPatternFailure as failure:
        return (rows, failure.code), frames.is_compiled
    return (rows, None), frames.is_compiled


def plain(answer: Answer) -> tuple[list[tuple[Any, ...]], str | None]:
    """Return an answer with NaN as something that equals itself."""
    rows, error = answer
    nan = "NaN"
    return [
        tuple(nan if isinstance(v, float) and math.isnan(v) else v for v in row) for row in rows
    ], error


def same(clause: str, frame: pl.DataFrame, schema: Schema, **options: Any) -> Answer:
    """Return the answer of both searches, once it has been found to be one."""
    compiled, is_compiled = answer(clause, frame, schema, compiles=True, **options)
    interpreted, _ = answer(clause, frame, schema, compiles=False)
    assert is_compiled, clause
    assert plain(compiled) == plain(interpreted)
    return compiled


@given(queries(max_rows=12), st.integers(1, 12), st.integers(1, 12))
def test_random_clauses(query: Query, cut: int, at_once: int) -> None:
    schema = Schema.from_ddl(DDL)
    frame = pl.DataFrame(list(query.rows), schema=schema.to_polars(), orient="row")
    if "PARTITION BY" in query.text:
        frame = frame.sort("g", nulls_last=True, maintain_order=True)
    try:
        interpreted, _ = answer(query.text, frame, schema, compiles=False)
        compiled, is_compiled = answer(
            query.text, frame, schema, compiles=True, cut=cut, at_once=at_once
        )
    except LimitExceeded:  # few rows, but ways that multiply: other tests are about those
        reject()
    event(f"compiled: {is_compiled}")
    # Rows in front of a failure may already be out, or not, as calls are cut.
    assert compiled[1] == interpreted[1]
    if compiled[1] is None:
        assert compiled == interpreted


CONDITIONS = [
    "q > LAST(q, 1)",
    "q >= PREV(q)",
    "q <> AVG(q)",
    "AVG(b) >= 2",
    "SUM(q) < 5e0 OR COUNT(q) IS NULL",
    "MIN(q) = q OR MAX(q) = q",
    "MIN(b) < b",
    "MAX(b) > b OR LAST(b, 2) IS NULL",
    "q IS DISTINCT FROM PREV(q)",
    "b IS NOT DISTINCT FROM PREV(b)",
    "s > FIRST(s)",
    "s = LAST(s, 1) OR PREV(s) IN ('x', 'ä')",
    "NOT (s < PREV(s))",
    "moment > PREV(moment)",
    "moment - FIRST(moment) < INTERVAL '5' SECOND",
    "day >= PREV(day)",
    "flag OR PREV(flag)",
    "NOT PREV(flag)",
    "(PREV(b) > 1) IS TRUE",
    "CASE WHEN PREV(b) IS NULL THEN 1 WHEN PREV(b) > 2 THEN PREV(b) ELSE b END > 1",
    "COALESCE(PREV(b), FIRST(b, 1), 0) < b",
    "PREV(b) + b > 3",
    "PREV(b) - b < 1 AND PREV(b) * 2 >= b",
    "-PREV(q) < q * 1.5",
    "PREV(q) - q >= -1e0",
    "b % 3 = PREV(b) % 3",
    "NEXT(b) > b",
    "NEXT(b, 2) IS NULL",
    "FIRST(A.b, 1) < b OR FIRST(A.b, 1) IS NULL",
    "COUNT(*) < 4",
    "COUNT(A.s) < 3",
    "MATCH_NUMBER() < 3",
    "SUM(b) + PREV(b) / 2 < 9",
]


@st.composite
def typed_rows(draw: st.DrawFn) -> list[tuple[Any, ...]]:
    """Return rows with every type that is compiled, NULLs and odd values among them."""
    floats = st.sampled_from([0.5, 1.0, 2.5, -0.0, 0.0, math.nan, math.inf, None])
    texts = st.sampled_from(["x", "y", "X", "ä", "", "😀", "\ue000", None])
    whole = st.sampled_from([1, 2, 3, 4, None])
    days = st.sampled_from([date(2024, 2, 29), date(2024, 3, 1), None])
    moments = st.integers(0, 9).map(lambda s: datetime(2024, 1, 1, 0, 0, s, tzinfo=UTC))
    flags = st.sampled_from([True, False, None])
    row = st.tuples(whole, floats, texts, moments, days, flags)
    return [(place, *values) for place, values in enumerate(draw(st.lists(row, max_size=15)))]


@given(
    typed_rows(),
    st.sampled_from(CONDITIONS),
    st.sampled_from(CONDITIONS),
    st.sampled_from(["A+ B", "A B* A?", "(A | B){2,3}", "A*? B", "A B+?"]),
    st.integers(1, 15),
)
def test_values_of_every_type(
    rows: list[tuple[Any, ...]], first: str, second: str, pattern: str, at_once: int
) -> None:
    schema = Schema.from_ddl(
        "t BIGINT, b BIGINT, q DOUBLE, s STRING, moment TIMESTAMP, day DATE, flag BOOLEAN"
    )
    frame = pl.DataFrame(rows, schema=schema.to_polars(), orient="row")
    measures = (
        "FIRST(s) AS s, LAST(q) AS q, AVG(b) AS mean, MAX(q) AS top, COUNT(*) AS n, "
        "PREV(FIRST(moment)) AS before, NEXT(flag) AS behind, FIRST(A.day) || 'x' AS day, "
        "CASE WHEN COUNT(*) > 2 THEN 'long' ELSE LAST(s, 1) END AS kind"
    ).replace("FIRST(A.day) || 'x'", "FIRST(A.day)")
    clause = (
        f"MATCH_RECOGNIZE ( ORDER BY t MEASURES {measures} PATTERN ({pattern}) "
        f"DEFINE A AS {first}, B AS {second} )"
    )
    same(clause, frame, schema, cut=3, at_once=at_once)


NUMBERS = Schema.from_ddl("k BIGINT, t BIGINT, p BIGINT")


def numbers(values: Sequence[int | None], key: int = 1) -> pl.DataFrame:
    rows = [(key, t, p) for t, p in enumerate(values)]
    return pl.DataFrame(rows, schema=NUMBERS.to_polars(), orient="row")


def clause_of(pattern: str, define: str, more: str = "", measures: str = "COUNT(*) AS n") -> str:
    return (
        f"MATCH_RECOGNIZE ( PARTITION BY k ORDER BY t MEASURES {measures} {more} "
        f"PATTERN ({pattern}) DEFINE {define} )"
    )


def test_a_sum_beyond_64_bits_in_a_measure_fails_alike() -> None:
    largest = 2**63 - 1
    clause = clause_of("A+", "A AS p > 0", measures="COUNT(*) AS n, SUM(p) > 0 AS is_positive")
    rows, _ = same(clause, numbers([largest, largest, largest]), NUMBERS)
    assert rows == [(1, 3, True)]


LARGEST = 2**63 - 1
AROUND_THE_ROOT = 3_037_000_500  # its square is the first beyond 64 bits
ODD_NUMBERS = [0, 1, -1, 2, -2, 3, 2**32, AROUND_THE_ROOT, AROUND_THE_ROOT - 1, -AROUND_THE_ROOT]
ODD_NUMBERS += [LARGEST, -LARGEST, -LARGEST - 1, 2**62, -(2**62)]


@pytest.mark.parametrize("operator", ["+", "-", "*"])
@pytest.mark.parametrize("outcome", ["IS NULL", "> 0", "< 0"])
def test_what_is_computed_beyond_64_bits_is_null(operator: str, outcome: str) -> None:
    pairs = list(itertools.product(ODD_NUMBERS, repeat=2))
    frame = pl.concat([numbers(pair, key) for key, pair in enumerate(pairs)])
    clause = clause_of("A B", f"B AS (PREV(p) {operator} p) {outcome}")
    rows, _ = same(clause, frame, NUMBERS)
    compute = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__}[operator]
    results = [compute(*pair) for pair in pairs]
    fits = [-LARGEST - 1 <= result <= LARGEST for result in results]
    expected = {
        "IS NULL": [not each for each in fits],
        "> 0": [each and result > 0 for each, result in zip(fits, results, strict=True)],
        "< 0": [each and result < 0 for each, result in zip(fits, results, strict=True)],
    }
    assert [row[0] for row in rows] == [n for n, each in enumerate(expected[outcome]) if each]


def test_the_search_is_compiled_for_one_sort_of_arrays() -> None:
    """Or it would be compiled again for frames whose columns lie in memory in another way."""
    measures = "SUM(p) AS s, LAST(p) AS last"
    clause = clause_of("A+ B", "A AS p > 1, B AS p < PREV(p)", measures=measures)
    whole = numbers([3, 4, 2, 5, 1] * 20)
    for frame in (whole, pl.concat([whole[:50], whole[50:]], rechunk=False), whole[3:], whole[:0]):
        for cut in (7, 10_000):
            same(clause, frame, NUMBERS, cut=cut)
    functions: list[Any] = [search, measure]
    assert [len(function.signatures) for function in functions] == [1, 1]


@pytest.mark.parametrize("at_once", [1, 3, 100])
def test_a_division_by_zero_is_the_same_failure(at_once: int) -> None:
    clause = clause_of("A B+", "B AS B.p / PREV(B.p) > 1")
    assert same(clause, numbers([1, 2, 4, 8]), NUMBERS, at_once=at_once)[1] is None
    answers = [
        answer(clause, numbers([1, 3, 0, 5]), NUMBERS, compiles=compiles, at_once=at_once)[0]
        for compiles in (True, False)
    ]
    assert answers[0][1] == answers[1][1] == "DIVISION_BY_ZERO"


def test_a_division_that_is_guarded_does_not_fail() -> None:
    clause = clause_of("A B+", "B AS PREV(B.p) <> 0 AND B.p / PREV(B.p) > 1")
    rows, error = same(clause, numbers([1, 2, 0, 5, 10, 21]), NUMBERS)
    assert error is None
    assert rows


@pytest.mark.parametrize("at_once", [1, 2, 7, 64])
def test_only_the_partition_that_gave_up_is_interpreted(at_once: int) -> None:
    largest = 2**63 - 1
    frames = [
        numbers([3, 2, 1, 7] * 5, 1),
        numbers([largest, largest, 7, 3, 7, 1, 7], 2),
        numbers([1, 7, 2, 7], 3),
    ]
    clause = clause_of("A+ B", "A AS SUM(A.p) > 0 AND A.p <> 7, B AS B.p = 7")
    rows, _ = same(clause, pl.concat(frames), NUMBERS, cut=5, at_once=at_once)
    assert [row[0] for row in rows] == [1] * 5 + [2] * 3 + [3] * 2


@pytest.mark.parametrize(
    ("pattern", "define"),
    [
        ("(A|A)* Z", "A AS p > 0, Z AS p > 9"),
        ("((A+)+)+ Z", "A AS p > 0, Z AS p > 9"),
        ("(A|A B|B A|B)* Z", "A AS p > 0, B AS p > 0, Z AS p > 9"),
        ("A* B* C* D* Z", "A AS p > 0, B AS p > 0, C AS p > 0, D AS p > PREV(p, 5), Z AS p > 9"),
        ("(A|B)* Z", "A AS p > 0, B AS p >= PREV(p), Z AS p > NEXT(p)"),
    ],
)
def test_what_multiplies_without_memory_is_tried_once(pattern: str, define: str) -> None:
    rows, error = same(clause_of(pattern, define), numbers([1] * 3_000), NUMBERS)
    assert (rows, error) == ([], None)


@pytest.mark.long
def test_what_multiplies_with_memory_ends_at_the_limit_of_the_interpreter() -> None:
    clause = clause_of("(A|B)* Z", "A AS p > 0, B AS t >= LAST(A.t), Z AS p > 9")
    with pytest.raises(LimitExceeded):
        answer(clause, numbers([1] * 3_000), NUMBERS, compiles=True)


def test_a_partition_larger_than_a_call_keeps_what_is_open() -> None:
    clause = clause_of("A B+ C", "A AS p = 1, B AS p = 2, C AS p = 3 AND PREV(p, 40) = 2")
    values = ([1] + [2] * 60 + [3] + [5] * 9) * 30
    rows, _ = same(clause, numbers(values), NUMBERS, cut=11, at_once=16)
    assert len(rows) == 30


def test_a_partition_may_not_keep_more_rows_than_allowed() -> None:
    clause = clause_of("A B* C", "A AS p = 1, B AS p = 2, C AS p = 3")
    frame = numbers([1] + [2] * 500)
    for compiles in (True, False):
        options: dict[str, Any] = {"at_once": 100, "limits": Limits(events=200)}
        with pytest.raises(LimitExceeded, match="rows kept for one key"):
            answer(clause, frame, NUMBERS, compiles=compiles, **options)


def test_what_is_not_compiled_is_interpreted() -> None:
    schema = Schema.from_ddl("k BIGINT, t BIGINT, p DECIMAL(10,2)")
    rows = [(1, t, Decimal(p)) for t, p in enumerate([1, 3, 2])]
    frame = pl.DataFrame(rows, schema=schema.to_polars(), orient="row")
    found, is_compiled = answer(
        clause_of("A B", "B AS B.p > PREV(B.p)"), frame, schema, compiles=True
    )
    assert not is_compiled
    assert found == ([(1, 2)], None)


@pytest.mark.parametrize(
    "condition",
    [
        " + ".join(["PREV(p)"] * 60) + " > 0",
        "NOT " * 60 + "(PREV(p) > 0)",
        "((PREV(p) IN (1, 2)) IN (TRUE, FALSE)) IN (TRUE, FALSE)",
        f"PREV(p) IN ({', '.join(map(str, range(1_500)))})",
        " OR ".join(f"PREV(p) = {number}" for number in range(400)),
        f"CASE {' '.join(f'WHEN PREV(p) = {n} THEN TRUE' for n in range(250))} ELSE FALSE END",
    ],
    ids=["sum", "not", "nested lists", "list", "alternatives", "cases"],
)
def test_a_long_condition_is_written_once(condition: str) -> None:
    same(clause_of("a b", f"b AS {condition}"), numbers([1, 2, 3, None, 5, 6]), NUMBERS)


def test_a_list_in_a_list_in_a_list_does_not_multiply() -> None:
    condition = "PREV(p) IN (1, 2, 3, 4)"
    for _ in range(12):
        condition = f"({condition}) IN (TRUE, TRUE, TRUE, TRUE)"
    found, is_compiled = answer(
        clause_of("a b", f"b AS {condition}"), numbers([1, 2, 3]), NUMBERS, compiles=True
    )
    assert not is_compiled
    assert found == ([(1, 2)], None)


@pytest.mark.parametrize("compiles", [False, True])
def test_more_variables_than_an_integer_has_bits(*, compiles: bool) -> None:
    names = [f"v{number}" for number in range(70)]
    define = ", ".join(f"{name} AS p = {number}" for number, name in enumerate(names))
    clause = clause_of(" ".join(names), define)
    found, _ = answer(clause, numbers(list(range(70))), NUMBERS, compiles=compiles)
    assert found == ([(1, 70)], None)


@pytest.mark.parametrize("compiles", [False, True])
def test_not_a_number_is_one_partition_in_frames_cut_anywhere(*, compiles: bool) -> None:
    schema = Schema.from_ddl("k DOUBLE, t BIGINT, p BIGINT")
    frame = pl.DataFrame({"k": [1.0, *[math.nan] * 5], "t": range(6), "p": [1] * 6})
    (rows, _), _ = answer(clause_of("a+", "a AS p = 1"), frame, schema, compiles=compiles, cut=2)
    assert [row[1] for row in rows] == [1, 5]

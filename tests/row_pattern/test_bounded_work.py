"""Clauses whose candidates multiply: each ends soon, with an answer or at a limit."""

from time import process_time

import pytest

from cep.matching.match_recognize import match_recognize
from cep.nfa.errors import LimitExceeded
from cep.nfa.limits import Limits
from cep.row_pattern.errors import ClauseError, Mistake
from cep.row_search.errors import RowPatternFailure
from tests.row_pattern.searching import IncrementalRun

SCHEMA = {"t": "BIGINT", "p": "BIGINT"}
NEVER = "A AS p > 0, Z AS p > 9"
CPU_SECONDS = 20
"""So long only on a machine that has slept; most need milliseconds."""


def count_of(pattern: str, define: str = NEVER, *, rows: int = 2_000, more: str = "") -> list[int]:
    """Return how many rows each match has; all rows are alike, and `Z` is never true."""
    clause = (
        f"MATCH_RECOGNIZE ( ORDER BY t MEASURES COUNT(*) AS n {more} "
        f"PATTERN ({pattern}) DEFINE {define} )"
    )
    begin = process_time()
    try:
        found = match_recognize(clause, [(i, 1) for i in range(rows)], schema=SCHEMA)
    finally:
        assert process_time() - begin < CPU_SECONDS
    return [n for (n,) in found.rows]


def nested(inner: str, quantifier: str, levels: int) -> str:
    return "(" * levels + inner + f"){quantifier}" * levels


@pytest.mark.parametrize(
    ("pattern", "define", "counts"),
    [
        ("((A*)*)*", "A AS p > 0", [2_000]),
        (nested("A", "*", 20), "A AS p > 0", [2_000]),
        ("((A+)+)+ Z", NEVER, []),
        ("(A|A)* Z", NEVER, []),
        ("(A|A B|B A|B)*", "A AS p > 0, B AS p > 0", [2_000]),
        ("(A|A B|B A|B)* Z", NEVER, []),
        ("(A|B)* Z", "A AS p > 0, B AS p >= PREV(p), Z AS p > NEXT(p)", []),
        ("A* Z", NEVER, []),
        ("((A{1,1000}){1,1000}){1,1000}", "A AS p > 0", [2_000]),
        ("A{2147483647}", "A AS p > 0", []),
        ("(A A{2147483646}){2147483647}", "A AS p > 0", []),
        ("PERMUTE(A, B, C, D, E, F, G, H, I)", "A AS p > 0", [9] * 222),
        ("|".join(["A"] * 1_900), "A AS p > 0", [1] * 2_000),
    ],
)
def test_ends_with_an_answer(pattern: str, define: str, counts: list[int]) -> None:
    assert count_of(pattern, define) == counts


@pytest.mark.long
@pytest.mark.parametrize(
    ("pattern", "define"),
    [
        ("((A{1,1000}){1,1000}){1,1000} Z", NEVER),
        ("(A?){100000}", "A AS p > 0"),
        ("(A*){2147483647}", "A AS p > 0"),
        ("(){2147483647} A", "A AS p > 0"),
        ("(() | A){2147483647}", "A AS p > 0"),
        ("((){2147483647}){2147483647} A", "A AS p > 0"),
        (nested("A", "{1,2}", 60), "A AS p > 0"),
        (nested("A?", "{0,3}", 30) + " Z", NEVER),
        (" ".join(["A?"] * 1_900), "A AS p > 0"),
        (" ".join(["A*"] * 300) + " Z", NEVER),
        ("PERMUTE(A?, B?, C?, D?, E?, F?, G?)+ Z", NEVER),
        ("(A|B)* Z", "A AS p > 0, B AS t >= LAST(A.t), Z AS p > 9"),
        ("(A|B)* Z", "A AS p > 0, Z AS SUM(A.t) + 3 * SUM(B.t) < 0"),
        ("(A|B)* Z", "A AS p > 0, Z AS COUNT(DISTINCT A.t) < 0"),
        ("(A|B|C|D)+ Z", "A AS p > 0, B AS PREV(CLASSIFIER()) <> 'x' OR t >= 0, Z AS p > 9"),
        ("A+ B+ C+ D+ E+ Z", "A AS p > 0, B AS SUM(A.t) >= 0, Z AS SUM(C.t) + SUM(D.t) < -1"),
    ],
)
def test_ends_at_a_limit_that_says_how_to_mend_it(pattern: str, define: str) -> None:
    with pytest.raises(LimitExceeded, match=r"limit is .*; .*lower the bounds of"):
        count_of(pattern, define)


@pytest.mark.parametrize("many", [300, 600])
def test_a_row_with_too_many_ways_is_refused_before_all_are_tried(many: int) -> None:
    with pytest.raises(LimitExceeded) as exceeded:
        count_of(f"(A?){{{many}}} Z", rows=many + 1)
    assert exceeded.value.given < exceeded.value.limit * 1.01


@pytest.mark.parametrize(
    "pattern",
    [
        "PERMUTE(A?, B?, C?, D?, E?, F?, G?, H?, I?) Z",
        "PERMUTE(A+, B+, C+, D+, E+, F+, G+) Z",
        "PERMUTE(PERMUTE(A, B, C, D, E, F, G?), PERMUTE(A, B, C, D, E, F, G?), A?) Z",
        nested("A", "", 65),
        " ".join(["A"] * 2_001),
    ],
)
def test_too_large_patterns_are_refused(pattern: str) -> None:
    with pytest.raises(ClauseError) as refused:
        count_of(pattern)
    assert refused.value.mistake is Mistake.TOO_LARGE


@pytest.mark.parametrize("offset", [10_001, 10**9, 10**30])
@pytest.mark.parametrize("function", ["PREV", "NEXT", "FIRST", "LAST"])
def test_huge_offsets_are_refused(function: str, offset: int) -> None:
    with pytest.raises(ClauseError) as refused:
        count_of("A", f"A AS {function}(p, {offset}) IS NULL")
    assert refused.value.mistake is Mistake.OFFSET


def test_large_offsets_hold() -> None:
    conditions = [f"{name}(p, 10000) IS NULL" for name in ("PREV", "NEXT", "FIRST", "LAST")]
    assert count_of("A+", f"A AS {' AND '.join(conditions)}", rows=500) == [500]


def test_what_a_start_has_tried_in_vain_is_not_tried_again() -> None:
    """Without that each of the rows would be walked to the end: a billion steps."""
    assert count_of("A* Z", rows=40_000) == []


def test_starts_in_vain_do_not_hide_a_match_behind_them() -> None:
    clause = (
        "MATCH_RECOGNIZE ( ORDER BY t MEASURES FIRST(t) AS a, LAST(t) AS b "
        "PATTERN (B A+ Z) WITHIN INTERVAL '4' SECOND DEFINE B AS p < 3, A AS p < 3, Z AS p > 2 )"
    )
    rows = [(i * 1_000, 3 if i == 9 else 1) for i in range(12)]
    found = match_recognize(clause, rows, schema={"t": "TIMESTAMP", "p": "BIGINT"})
    assert found.rows == [(6_000, 9_000)]


@pytest.mark.long
def test_a_limit_is_reached_at_the_same_row_however_the_rows_come() -> None:
    clause = (
        "MATCH_RECOGNIZE ( ORDER BY t MEASURES COUNT(*) AS n PATTERN ((A|B)* Z) "
        "DEFINE A AS p > 0, B AS PREV(CLASSIFIER()) <> 'x' OR t >= 0, Z AS p > 9 )"
    )

    def rows_before_the_limit(size: int, *, is_encoded: bool) -> int:
        run = IncrementalRun(clause, SCHEMA, is_encoded=is_encoded)
        for i in range(100):
            run.append((i, 1))
            if i % size == size - 1:
                try:
                    run.search_all()
                except LimitExceeded:
                    return run.partitions[()].cursor
        raise AssertionError("the limit was never reached")

    known = rows_before_the_limit(1, is_encoded=False)
    assert known == rows_before_the_limit(1, is_encoded=True)
    assert known == rows_before_the_limit(4, is_encoded=True)
    assert known == rows_before_the_limit(100, is_encoded=False)


def test_the_limit_is_that_of_partial_matches() -> None:
    clause = (
        "MATCH_RECOGNIZE ( ORDER BY t MEASURES COUNT(*) AS n PATTERN ((A|B)* Z) "
        "DEFINE A AS p > 0, B AS t >= LAST(A.t), Z AS p > 9 )"
    )
    rows = [(i, 1) for i in range(200)]
    assert match_recognize(clause, rows, schema=SCHEMA).rows == []
    with pytest.raises(LimitExceeded, match="the limit is 1,000"):
        match_recognize(clause, rows, schema=SCHEMA, limits=Limits(partial_matches=1_000))


def test_division_by_zero_is_still_found_behind_starts_in_vain() -> None:
    clause = (
        "MATCH_RECOGNIZE ( ORDER BY t MEASURES COUNT(*) AS n PATTERN (B A* Z) "
        "DEFINE A AS p > 0, B AS 10 / (t - 30) < 100, Z AS p > 9 )"
    )
    with pytest.raises(RowPatternFailure, match="division by zero"):
        match_recognize(clause, [(i, 1) for i in range(40)], schema=SCHEMA)

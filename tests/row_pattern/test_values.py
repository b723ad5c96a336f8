"""Values that are hard to compare: arrays, structures, NaN; and candidates that must stay apart."""

from math import nan
from typing import Any

import pytest

from percept import ClauseError, Pattern, RowPatternFailure, find_matches, match_recognize


def rows_of(clause: str, rows: list[tuple[Any, ...]], schema: str) -> list[tuple[Any, ...]]:
    return match_recognize(f"MATCH_RECOGNIZE ({clause})", rows, schema=schema).rows


def test_candidates_stay_apart_where_a_condition_asks_for_any_variable() -> None:
    """Ways that end at once must not be taken for the one that comes behind them."""
    clause = """
        ORDER BY x MEASURES ARRAY_AGG(CLASSIFIER()) AS c
        PATTERN (A ^ B | A ^ B | A C) DEFINE C AS PREV(CLASSIFIER()) = 'A'
    """
    assert rows_of(clause, [(1,), (2,)], "x BIGINT") == [(["A", "C"],)]


NESTED = [
    ("tags ARRAY<STRING>", [["a"], ["a"], ["b"]]),
    ("tags STRUCT<a: STRING, b: ARRAY<INT>>", [{"a": "x", "b": [n]} for n in (1, 1, 2)]),
]


@pytest.mark.parametrize(("column", "values"), NESTED)
def test_arrays_and_structures_are_collected_and_told_apart(column: str, values: list[Any]) -> None:
    clause = """
        MEASURES ARRAY_AGG(tags) AS tags, COUNT(DISTINCT tags) AS n
        PATTERN (A B* C)
        DEFINE B AS ARRAY_AGG(tags) IS NOT NULL, C AS COUNT(DISTINCT tags) > 1
    """
    assert rows_of(clause, [(value,) for value in values], column) == [(values, 2)]


@pytest.mark.parametrize("part", ["PARTITION BY tags", "ORDER BY tags"])
@pytest.mark.parametrize("column", [column for column, _ in NESTED])
def test_arrays_and_structures_are_neither_key_nor_order(part: str, column: str) -> None:
    clause = f"{part} MEASURES COUNT(*) AS n PATTERN (A) DEFINE A AS TRUE"
    with pytest.raises(ClauseError, match="tags is of type"):
        rows_of(clause, [], column)


def test_nan_is_one_key_and_the_greatest_value() -> None:
    measure = "MEASURES ARRAY_AGG(n) AS n PATTERN (A+) DEFINE A AS TRUE"
    rows = [(3.0, 1), (float("nan"), 2), (1.0, 3), (nan, 4), (None, 5)]
    schema = "x DOUBLE, n INT"

    assert rows_of(f"ORDER BY x {measure}", rows, schema) == [([3, 1, 2, 4, 5],)]
    assert rows_of(f"ORDER BY x DESC {measure}", rows, schema) == [([2, 4, 1, 3, 5],)]
    assert [n for _, n in rows_of(f"PARTITION BY x {measure}", rows, schema)] == [
        [1], [2, 4], [3], [5]
    ]  # fmt: skip


def test_a_row_that_does_not_fit_its_schema_fails_the_query() -> None:
    clause = "MEASURES COUNT(*) AS n PATTERN (A) DEFINE A AS LENGTH(x) > 1"
    with pytest.raises(RowPatternFailure, match="x is BIGINT"):
        rows_of(clause, [(1,)], "x STRING")


def test_a_list_of_events_is_matched_by_the_partition_of_the_clause() -> None:
    clause = """MATCH_RECOGNIZE (PARTITION BY user ORDER BY ts
        PATTERN (A B) DEFINE A AS name = 'a', B AS name = 'b')"""
    events = [
        {"user": user, "name": name, "ts": ts}
        for ts, (user, name) in enumerate([("u", "a"), ("v", "x"), ("u", "b"), ("v", "b")])
    ]
    found = find_matches(Pattern.from_sql(clause), events)
    assert [match.key for match in found.matches] == [("u",)]

"""A match is given out at the row that decides it: neither before, nor later.

The cases are those of "When is a match decided?" in the README. Rows are letters, one per second;
a letter is true for the variable of its name, `x` for none.
"""

import re
from collections.abc import Sequence

import pytest

from tests.row_pattern.brute_force.matching import brute_force
from tests.row_pattern.searching import IncrementalRun

COLUMNS = {"t": "TIMESTAMP", "s": "STRING"}
LETTERS = "A AS s = 'a', B AS s = 'b', C AS s = 'c'"


def clause_of(pattern: str, define: str, measure: str, mode: str) -> str:
    variables = [part for part in re.split(", (?=[A-C] AS)", define) if part[0] in pattern]
    return (
        f"MATCH_RECOGNIZE ( ORDER BY t MEASURES {measure} AS m {mode} "
        f"PATTERN ({pattern}) DEFINE {', '.join(variables)} )"
    )


def rows_of(letters: str) -> list[tuple[int, str]]:
    return [(place * 1_000, letter) for place, letter in enumerate(letters)]


def emitted(clause: str, letters: str) -> list[int]:
    """Return how many rows are output after each row, and at the end."""
    run = IncrementalRun(clause, COLUMNS, is_encoded=True)
    counts = []
    for row in rows_of(letters):
        run.process(row)
        counts.append(len(run.rows))
    run.end()
    assert run.rows == brute_force(clause, rows_of(letters), COLUMNS).rows
    return [*counts, len(run.rows)]


ALL = "ALL ROWS PER MATCH"
UNMATCHED = "ALL ROWS PER MATCH WITH UNMATCHED ROWS"


@pytest.mark.parametrize(
    ("pattern", "letters", "counts"),
    [
        ("A B", "axab", [0, 0, 0, 1, 1]),
        # greedy at the end: the row that ends the loop, or the end of the partition
        ("A B+", "abbx", [0, 0, 0, 1, 1]),
        ("A B+", "abb", [0, 0, 0, 1]),
        ("A B*", "ax", [0, 1, 1]),
        ("A B?", "ab", [0, 1, 1]),
        ("A B?", "ax", [0, 1, 1]),
        ("A B{1,2}", "abb", [0, 0, 1, 1]),
        # reluctant at the end: at once
        ("A B+?", "abb", [0, 1, 1, 1]),
        ("A B*?", "ab", [1, 1, 1]),
        ("A B??", "ab", [1, 1, 1]),
        ("A B{2,}?", "abbb", [0, 0, 1, 1, 1]),
        # preferred alternatives that are still alive
        ("A B C | A", "abc", [0, 0, 1, 1]),
        ("A B C | A", "abx", [0, 0, 1, 1]),
        ("A B C | A", "ax", [0, 1, 1]),
        ("A B C | A", "ab", [0, 0, 1]),
        ("A | A B C", "abc", [1, 1, 1, 1]),
        ("PERMUTE(A, B)", "ba", [0, 1, 1]),
        # anchors
        ("A B $", "ab", [0, 0, 1]),
        ("A B $ | A", "abx", [0, 0, 1, 1]),
        ("A | A $", "a", [1, 1]),
        ("^ A B", "abab", [0, 1, 1, 1, 1]),
        # earlier starts that are open hold back what is complete
        ("A B+ C | B", "abbx", [0, 0, 0, 2, 2]),
    ],
)
def test_the_row_that_decides(pattern: str, letters: str, counts: list[int]) -> None:
    clause = clause_of(pattern, LETTERS, "COUNT(*)", "ONE ROW PER MATCH")
    assert emitted(clause, letters) == counts


@pytest.mark.parametrize(
    ("pattern", "mode", "letters", "counts"),
    [
        ("A B+", ALL, "abbx", [0, 0, 0, 3, 3]),
        ("A B", ALL, "ab", [0, 2, 2]),
        # an empty match only once all others have failed
        ("A*", ALL, "xax", [1, 1, 3, 3]),
        ("A*?", ALL, "aa", [1, 2, 2]),
        ("A B | ()", ALL, "aab", [0, 1, 3, 3]),
        # an unmatched row when its own search has failed and all earlier ones are decided
        ("A B", UNMATCHED, "xaabx", [1, 1, 2, 4, 5, 5]),
        ("A B C", UNMATCHED, "abx", [0, 0, 3, 3]),
    ],
)
def test_rows_of_all_modes(pattern: str, mode: str, letters: str, counts: list[int]) -> None:
    assert emitted(clause_of(pattern, LETTERS, "FINAL COUNT(*)", mode), letters) == counts


@pytest.mark.parametrize(
    ("define", "measure", "letters", "counts"),
    [
        # NEXT in DEFINE: open until that row is there, or the end
        ("A AS NEXT(s) = 'b'", "COUNT(*)", "abx", [0, 1, 1, 1]),
        ("A AS NEXT(s, 2) = 'c'", "COUNT(*)", "abcx", [0, 0, 1, 1, 1]),
        ("A AS NEXT(s) IS NULL", "COUNT(*)", "ab", [0, 0, 1]),
        # NEXT in MEASURES: decided, but the output waits
        ("A AS s = 'a'", "NEXT(s)", "ab", [0, 1, 1]),
        ("A AS s = 'a'", "NEXT(s, 2)", "abc", [0, 0, 1, 1]),
        ("A AS s = 'a'", "NEXT(s, 2)", "ab", [0, 0, 1]),
    ],
)
def test_next(define: str, measure: str, letters: str, counts: list[int]) -> None:
    assert emitted(clause_of("A", define, measure, "ONE ROW PER MATCH"), letters) == counts


@pytest.mark.parametrize(
    ("pattern", "times_ms", "decided_at_ms"),
    [
        ("A B+", [0, 1_000], 3_000),
        ("A B* C | A", [0, 1_000], 3_000),
        ("B+", [1_000, 2_000], 4_000),
    ],
)
def test_time_that_is_over_decides(
    pattern: str, times_ms: Sequence[int], decided_at_ms: int
) -> None:
    clause = (
        "MATCH_RECOGNIZE ( ORDER BY t MEASURES COUNT(*) AS m "
        f"PATTERN ({pattern}) WITHIN INTERVAL '3' SECOND DEFINE {pattern[0]} AS TRUE )"
    )
    run = IncrementalRun(clause, COLUMNS, is_encoded=True)
    for time_ms in times_ms:
        run.process((time_ms, "x"))
    run.pass_time(decided_at_ms - 1)
    assert run.rows == []
    run.pass_time(decided_at_ms)
    assert len(run.rows) == 1

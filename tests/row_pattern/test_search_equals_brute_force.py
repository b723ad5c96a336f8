"""The incremental search against brute force, on random clauses and rows, however they come.

1000 times as many examples: PERCEPT_EXAMPLE_FACTOR=1000 pytest FILE
"""

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import pytest
from hypothesis import assume, event, example, given, reject
from hypothesis import strategies as st

from cep.expression import FieldReader
from cep.matching.match_recognize import match_recognize
from cep.nfa.errors import LimitExceeded
from cep.row_pattern.bound import BoundClause
from cep.row_search.errors import RowPatternFailure
from cep.row_search.program import RowProgram
from cep.row_search.search import RowPatternSearch
from tests.row_pattern.brute_force.expressions import NotCovered
from tests.row_pattern.brute_force.matching import Answer, brute_force
from tests.row_pattern.brute_force.strategies import (
    COLUMNS,
    Query,
    nested_patterns,
    paths_seen,
    queries,
)
from tests.row_pattern.cases import by_partition, is_same
from tests.row_pattern.searching import IncrementalRun

END_BEYOND_THE_WINDOW = Query(
    "MATCH_RECOGNIZE ( PARTITION BY g ORDER BY t MEASURES ARRAY_AGG(CLASSIFIER()) AS m0 "
    "PATTERN (A+ $) WITHIN INTERVAL '3' SECOND DEFINE A AS p = 1 )",
    (
        ("a", 1_000, 1, 0.5, None),
        ("a", 2_000, 1, 0.5, None),
        ("a", 3_000, 1, 0.5, None),
        ("b", 4_000, 1, 0.5, None),
    ),
)
"""The row of another partition passes the window of `a`; that `$` holds is known later still."""


class ProgramWithoutMerging(RowProgram):
    """The program in which no two candidates are taken to have the same future."""

    def __init__(self, clause: BoundClause, field_reader: FieldReader) -> None:
        super().__init__(clause, field_reader)
        self.moves = None

    def future(self, *_: Any) -> Any:
        return object()


class WithoutMerging(RowPatternSearch):
    """The search that follows every candidate, also those that cannot differ any more."""

    def __init__(self, clause: BoundClause, field_reader: FieldReader) -> None:
        super().__init__(clause, field_reader)
        self.program = ProgramWithoutMerging(clause, field_reader)


def answer_of(query: Query) -> Answer:
    try:
        return brute_force(query.text, query.rows, COLUMNS)
    except NotCovered:
        assume(condition=False)
        raise


def check(query: Query, expected: Answer, rows: Sequence[Sequence[Any]]) -> None:
    key = "PARTITION BY" in query.text
    assert is_same(by_partition(rows, key), by_partition(expected.rows, key)), (query, rows)


@example(END_BEYOND_THE_WINDOW)
@given(queries())
def test_search_finds_what_brute_force_finds(query: Query) -> None:
    expected = answer_of(query)
    event(expected.error or ("rows" if expected.rows else "nothing"))
    if expected.error is not None:
        with pytest.raises(RowPatternFailure) as failed:
            match_recognize(query.text, query.rows, schema=COLUMNS)
        assert failed.value.code == expected.error
        return
    result = match_recognize(query.text, query.rows, schema=COLUMNS)
    assert [name.upper() for name in result.columns] == list(expected.columns)
    check(query, expected, result.rows)


@given(nested_patterns())
def test_candidates_are_preferred_as_brute_force_prefers_them(query: Query) -> None:
    expected = answer_of(query)
    check(query, expected, match_recognize(query.text, query.rows, schema=COLUMNS).rows)


@given(paths_seen())
def test_conditions_see_which_variables_the_rows_before_are(query: Query) -> None:
    expected = answer_of(query)
    check(query, expected, match_recognize(query.text, query.rows, schema=COLUMNS).rows)


@pytest.mark.parametrize(
    "pattern", ["(B A | A B) C", "PERMUTE(A, B) C", "(A | B){2} C", "(B | A)+ C"]
)
def test_candidates_that_only_the_variables_before_tell_apart(pattern: str) -> None:
    rows = tuple(("a", time, 1, 0.5, None) for time in (1_000, 2_000, 3_000, 4_000))
    for value in (
        "PREV(CLASSIFIER())",
        "PREV(CLASSIFIER(), 1)",
        "PREV(CLASSIFIER(), 2)",
        "PREV(LAST(CLASSIFIER()))",
        "PREV(LAST(CLASSIFIER(), 0), 1)",
        "FIRST(CLASSIFIER())",
        "LAST(CLASSIFIER(), 1)",
    ):
        for variable in "AB":
            text = (
                "MATCH_RECOGNIZE ( ORDER BY t MEASURES ARRAY_AGG(CLASSIFIER()) AS m "
                f"PATTERN ({pattern}) DEFINE C AS {value} = '{variable}' )"
            )
            query = Query(text, rows)
            expected = brute_force(text, rows, COLUMNS)
            assert expected.rows
            check(query, expected, match_recognize(text, rows, schema=COLUMNS).rows)


def check_run(query: Query, run: IncrementalRun, feed: Callable[[], None]) -> None:
    """Rows of several partitions that come one by one may fail in another order."""
    expected = answer_of(query)
    try:
        feed()
        run.end()
    except RowPatternFailure:
        assert expected.error is not None
        return
    assert expected.error is None
    check(query, expected, run.rows)


@given(queries(), st.data())
def test_any_parts_with_the_state_written_in_between(query: Query, data: st.DataObject) -> None:
    run = IncrementalRun(query.text, COLUMNS, is_encoded=True)

    def feed() -> None:
        for row in query.rows:
            run.append(row)
            if data.draw(st.booleans()):
                run.search_all()

    check_run(query, run, feed)


@given(queries())
def test_candidates_that_are_merged_could_not_have_won(query: Query) -> None:
    run = IncrementalRun(query.text, COLUMNS, is_encoded=False, search_type=WithoutMerging)

    def feed() -> None:
        for row in query.rows:
            run.process(row)

    try:
        check_run(query, run, feed)
    except LimitExceeded:  # merging is what keeps the ways of such a pattern from multiplying
        reject()


@given(queries(), st.data())
def test_time_that_passes_between_rows_changes_nothing(query: Query, data: st.DataObject) -> None:
    run = IncrementalRun(query.text, COLUMNS, is_encoded=True)
    times = [*map(itemgetter(1), query.rows), 10**9]

    def feed() -> None:
        for row, now_ms, next_ms in zip(query.rows, times, times[1:], strict=False):
            run.process(row)
            run.pass_time(data.draw(st.integers(now_ms, min(next_ms, now_ms + 10_000))))

    check_run(query, run, feed)

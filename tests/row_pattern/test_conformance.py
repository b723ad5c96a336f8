"""Every case of the standard, on lists of rows and on the incremental search."""

from operator import attrgetter

import pytest

from cep.matching.match_recognize import match_recognize
from cep.row_pattern.errors import ClauseError
from cep.row_search.errors import RowPatternFailure
from tests.row_pattern.cases import FILES, Case, load, same_rows
from tests.row_pattern.searching import IncrementalRun, sorted_rows

CASES = [case for file in FILES for case in load(file)]
ANSWERED = [case for case in CASES if case.error is None]


@pytest.mark.parametrize("case", CASES, ids=attrgetter("id"))
def test_result_is_the_one_of_the_standard(case: Case) -> None:
    if case.phase == "analyse":
        with pytest.raises(ClauseError) as refused:
            match_recognize(case.query, case.rows, schema=case.columns)
        assert refused.value.mistake == case.error
        return
    if case.phase == "run":
        with pytest.raises(RowPatternFailure) as failed:
            match_recognize(case.query, case.rows, schema=case.columns)
        assert failed.value.code == case.error
        return
    result = match_recognize(case.query, case.rows, schema=case.columns)
    expected = [column.casefold() for column in case.expected_columns or ()]
    assert [column.casefold() for column in result.columns] == expected
    assert same_rows(case, result.rows), result.rows


@pytest.mark.parametrize("case", ANSWERED, ids=attrgetter("id"))
def test_rows_one_by_one_with_the_state_written_in_between(case: Case) -> None:
    run = IncrementalRun(case.query, case.columns, is_encoded=True)
    for row in sorted_rows(case.rows, list(case.columns), case.query):
        run.process(row)
    run.end()
    assert same_rows(case, run.rows), run.rows

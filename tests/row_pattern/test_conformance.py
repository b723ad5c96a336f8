"""Every case of the standard, on lists of rows and on the incremental search, file by file."""

import pytest

from cep.matching.match_recognize import match_recognize
from cep.row_pattern.errors import ClauseError
from cep.row_search.errors import RowPatternFailure
from tests.row_pattern.cases import FILES, Case, load, same_rows
from tests.row_pattern.searching import IncrementalRun, sorted_rows


def difference(case: Case) -> str | None:
    """Return how the answer of lists differs from that of the standard; None if it does not."""
    try:
        result = match_recognize(case.query, case.rows, schema=case.columns)
    except ClauseError as refused:
        expected = case.error if case.phase == "analyse" else None
        return None if refused.mistake == expected else f"refused: {refused.mistake}"
    except RowPatternFailure as failed:
        expected = case.error if case.phase == "run" else None
        return None if failed.code == expected else f"failed: {failed.code}"
    if case.error is not None:
        return f"no error: {result.rows}"
    names = [column.casefold() for column in case.expected_columns or ()]
    if [column.casefold() for column in result.columns] != names:
        return f"columns: {result.columns}"
    return None if same_rows(case, result.rows) else f"rows: {result.rows}"


@pytest.mark.parametrize("file", FILES)
def test_results_are_those_of_the_standard(file: str) -> None:
    differences = {case.id: difference(case) for case in load(file)}
    assert {case_id: text for case_id, text in differences.items() if text is not None} == {}


@pytest.mark.long
@pytest.mark.parametrize("file", [file for file in FILES if file != "errors"])
def test_rows_one_by_one_with_the_state_written_in_between(file: str) -> None:
    differing = {}
    for case in load(file):
        if case.error is not None:
            continue
        run = IncrementalRun(case.query, case.columns, is_encoded=True)
        for row in sorted_rows(case.rows, list(case.columns), case.query):
            run.process(row)
        run.end()
        if not same_rows(case, run.rows):
            differing[case.id] = run.rows
    assert differing == {}

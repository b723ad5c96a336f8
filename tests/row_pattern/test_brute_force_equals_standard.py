"""The brute force against the vectors of the standard: before it judges, it is judged."""

import pytest

from tests.row_pattern.brute_force.expressions import NotCovered
from tests.row_pattern.brute_force.matching import brute_force
from tests.row_pattern.cases import Case, load, same_rows


@pytest.mark.parametrize(
    ("file", "not_covered"),
    [
        ("trino", 5),  # ARRAY[...] and LIKE
        ("flink", 0),
        ("fuzz", 5),  # LIKE, and once too much to be tried
    ],
)
def test_brute_force_gives_the_answers_of_the_standard(file: str, not_covered: int) -> None:
    wrong = []
    passed_over = []
    for case in load(file):
        try:
            if not _is_right(case):
                wrong.append(case.id)
        except NotCovered:
            passed_over.append(case.id)
    assert wrong == []
    assert len(passed_over) <= not_covered, passed_over


def _is_right(case: Case) -> bool:
    answer = brute_force(case.query, case.rows, case.columns, steps=400_000)
    if case.error is not None:
        return answer.error == case.error
    columns = [column.upper() for column in case.expected_columns or ()]
    return list(answer.columns) == columns and same_rows(case, answer.rows)

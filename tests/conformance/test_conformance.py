"""Every vector answered by Flink itself, run on `cep.find_matches`."""

from collections.abc import Callable

import pytest

from tests.conformance.cases import ANSWERED, FLINK_BUGS, Case, load
from tests.conformance.outcome import Agreement, Failure, agreement, counts_agree, differences
from tests.conformance.target import find_matches_outcome


@pytest.mark.parametrize(
    ("file", "case"),
    [pytest.param(file, case, id=case.id) for file in ANSWERED for case in load(file)],
)
def test_outcome_is_the_one_of_flink(
    file: str, case: Case, record_property: Callable[[str, object], None]
) -> None:
    actual = find_matches_outcome(case.pattern, case.events, case.final_watermark_ms)
    reached = agreement(case.expected, actual)
    record_property("file", file)
    record_property("agreement", int(reached))
    record_property("counts_agree", counts_agree(case.expected, actual))
    assert reached >= Agreement.FIRST_EVENT_ORDER, differences(case.expected, actual)
    assert counts_agree(case.expected, actual), differences(case.expected, actual)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in load(FLINK_BUGS)])
def test_where_flink_fails_there_is_an_answer_or_a_refusal(case: Case) -> None:
    # Nothing to compare with: what is asked for is that this call returns, and is no defect.
    outcome = find_matches_outcome(case.pattern, case.events, case.final_watermark_ms)
    assert outcome.failure is not Failure.CRASHED

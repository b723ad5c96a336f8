"""Every vector answered by Flink itself, run on `cep.find_matches`: one test per vector file."""

import pytest

from tests.conformance.cases import ANSWERED, FLINK_BUGS, load
from tests.conformance.outcome import Agreement, Failure, agreement, counts_agree, differences
from tests.conformance.target import find_matches_outcome


@pytest.mark.parametrize("file", ANSWERED)
def test_outcomes_are_those_of_flink(file: str) -> None:
    differing = {}
    for case in load(file):
        actual = find_matches_outcome(case.pattern, case.events, case.final_watermark_ms)
        reached = agreement(case.expected, actual)
        if reached < Agreement.FIRST_EVENT_ORDER or not counts_agree(case.expected, actual):
            differing[case.id] = differences(case.expected, actual)
    assert differing == {}


def test_where_flink_fails_there_is_an_answer_or_a_refusal() -> None:
    # Nothing to compare with: the calls must return, and none may fail by a defect of the engine.
    crashed = [
        case.id
        for case in load(FLINK_BUGS)
        if find_matches_outcome(case.pattern, case.events, case.final_watermark_ms).failure
        is Failure.CRASHED
    ]
    assert crashed == []

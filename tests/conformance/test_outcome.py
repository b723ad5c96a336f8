"""The comparison the conformance suite rests on: it must notice every kind of difference."""

from dataclasses import replace

import pytest

from tests.conformance.outcome import (
    Agreement,
    Failure,
    Match,
    Outcome,
    TimedOut,
    agreement,
    counts_agree,
    differences,
)

EARLY = Match((("a", (1,)), ("b", (3,))), 3)
EARLY_TOO = Match((("a", (1, 2)), ("b", (3,))), 3)
LATE = Match((("a", (2,)), ("b", (3,))), 3)
OUTCOME = Outcome(
    matches=(EARLY, EARLY_TOO, LATE),
    timed_out=(TimedOut((("a", (4,)),), 14, None),),
    open_partial_matches=2,
)


def test_an_outcome_agrees_with_itself() -> None:
    assert agreement(OUTCOME, OUTCOME) is Agreement.LIST
    assert counts_agree(OUTCOME, OUTCOME)
    assert differences(OUTCOME, OUTCOME) == []


def test_order_among_matches_with_one_first_event_is_not_relied_on() -> None:
    swapped = replace(OUTCOME, matches=(EARLY_TOO, EARLY, LATE))
    assert agreement(OUTCOME, swapped) is Agreement.FIRST_EVENT_ORDER
    assert differences(OUTCOME, swapped) == [
        "match 0 out of order: expected {a=1 b=3} at event 3, got {a=1,2 b=3} at event 3"
    ]


def test_order_by_first_event_is_relied_on() -> None:
    swapped = replace(OUTCOME, matches=(LATE, EARLY, EARLY_TOO))
    assert agreement(OUTCOME, swapped) is Agreement.MULTISET


@pytest.mark.parametrize(
    ("other", "line"),
    [
        (replace(OUTCOME, matches=(EARLY, LATE)), "missing match: {a=1,2 b=3} at event 3"),
        (
            replace(OUTCOME, matches=(*OUTCOME.matches, LATE)),
            "extra match: {a=2 b=3} at event 3",
        ),
        (
            replace(OUTCOME, timed_out=()),
            "missing timeout: {a=4} at final watermark, timeout_ms 14",
        ),
        (replace(OUTCOME, failure=Failure.REFUSED), "failure: expected None, got refused"),
    ],
)
def test_a_difference_in_what_was_emitted_is_no_agreement(other: Outcome, line: str) -> None:
    assert agreement(OUTCOME, other) is Agreement.NONE
    assert differences(OUTCOME, other) == [line]


def test_counts_are_compared_where_both_sides_know_them() -> None:
    assert not counts_agree(OUTCOME, replace(OUTCOME, open_partial_matches=3))
    assert counts_agree(OUTCOME, replace(OUTCOME, open_partial_matches=None))

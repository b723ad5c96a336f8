"""A job that closes at its end: what waits for more time or more events comes out, once."""

import pytest

from tests.processor_runtime.core.pipeline import Options, Pipeline
from tests.processor_runtime.core.published import (
    absence,
    event,
    letters,
    processor,
    sequence,
    spelled,
    stream,
    version,
)

ABSENCE = processor("absence", version(1, absence("a", "b", 2_000)))
SEQUENCE = processor("sequence", version(1, sequence("ab", within_ms=50)))
# A match waits for a partial match that began before it, and has no window in which to end.
HELD = processor(
    "held",
    version(
        1,
        {
            "steps": [
                {"name": "a", "where": "name = 'a'"},
                {
                    "name": "c",
                    "contiguity": "followed_by",
                    "where": "name = 'c' AND price > a.price",
                },
            ],
            "after_match_skip": {"strategy": "skip_past_last_event"},
        },
    ),
)


def job(*processors: object) -> Pipeline:
    made = Pipeline(stream(100), Options(shards=3))
    made.publish(*processors)  # type: ignore[arg-type] # of published.processor
    return made


def test_windows_and_waiting_events_end() -> None:
    closing = job(ABSENCE, SEQUENCE)
    closing.batch([*letters("ab", 1_980), *letters("a", 2_000, user="v")])
    assert closing.rows == []
    assert sorted(spelled(closing.close())) == [
        "absence1 match a2000",
        "sequence1 match a1980 b1981",
        "sequence1 timeout a2000",
    ]
    assert {row.end_ms for row in closing.rows} == {1_981, 2_050, 4_000}
    assert closing.job_status.partial_matches == 0


def test_a_match_that_is_held_back_comes_at_the_time_of_its_last_event() -> None:
    closing = job(HELD)
    closing.batch(
        [event("a", 1_000, price=9), event("a", 1_001, price=1), event("c", 1_002, price=5)]
    )
    closing.advance(5_000)
    assert closing.rows == []
    assert spelled(closing.close()) == ["held1 match a1001 c1002"]
    assert closing.rows[0].end_ms == 1_002
    # The partial match that held it back is given up, which is counted.
    assert closing.job_status.totals.dropped == 1
    assert closing.job_status.partial_matches == 0


def test_nothing_that_was_closed_is_extended_or_found_again_by_a_later_run() -> None:
    closing = job(ABSENCE, SEQUENCE, HELD)
    closing.batch([event("a", 1_000), event("a", 1_010, user="v")])
    closing.close()
    before = len(closing.rows)
    closing.restart()
    # The first is as old as the newest event, the second younger, and would have completed them.
    closing.batch([event("b", 1_010, price=9), event("b", 1_020, price=9)])
    closing.batch([event("c", 1_030, price=9), event("c", 1_030, price=9, user="v")])
    closing.close()
    assert [(row.kind, row.start_ms) for row in closing.rows[before:]] == [("late", 1_010)]


def test_a_later_run_begins_as_the_first_did() -> None:
    closing = job(ABSENCE)
    for begin_ms in (1_000, 1_001, 50_000):
        closing.restart()
        closing.batch(letters("a", begin_ms))
        closing.close()
    assert spelled(closing.rows) == [f"absence1 match a{ms}" for ms in (1_000, 1_001, 50_000)]


def test_events_of_the_last_batch_are_matched_before_it_closes() -> None:
    closing = job(ABSENCE, SEQUENCE)
    closing.batch(letters("a", 1_000))
    assert spelled(closing.close(letters("b", 1_001))) == ["sequence1 match a1000 b1001"]


@pytest.mark.parametrize("times", [1, 2])
def test_a_kill_while_it_closes_changes_nothing(times: int) -> None:
    closing = job(ABSENCE, SEQUENCE, HELD)
    closing.batch([*letters("ab", 1_000), *letters("a", 2_000, user="v")])
    rows = closing.close()
    for _ in range(times):
        assert closing.replay() == rows
    closing.batch(letters("b", 2_001, user="v"))
    assert closing.close() == []


def test_what_would_have_ended_by_a_schedule_ends_before_its_window() -> None:
    closing = job(
        processor("short", version(1, absence("a", "b", 2_000), until_ms=1_500)),
        processor("long", version(1, absence("a", "b", 2_000), until_ms=3_500)),
    )
    closing.batch(letters("a", 1_000))
    assert spelled(closing.close()) == ["long1 match a1000"]

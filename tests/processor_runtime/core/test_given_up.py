"""Where a version or a job ends, what was held back comes out, and what is given up is counted."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.snapshot import SnapshotProcessor
from percept import Pattern, find_matches
from processor_runtime.rows.output_rows import OutputRow
from processor_runtime.schedule.interval import EndReason
from tests.letters import (
    Document,
    absence,
    event,
    followed,
    job_of,
    letters,
    pass_by,
    processor,
    sequence,
    spelled,
    stream,
    version,
)
from tests.processor_runtime.core.pipeline import Event, Options, Pipeline
from tests.processor_runtime.core.random_rules import sorted_events
from tests.properties import slow_property

SAME_PRICE = followed(
    ("a", "name = 'a'"),
    ("b", "name = 'b' AND price = a.price"),
    after_match_skip={"strategy": "skip_past_last_event"},
)
V1 = processor("p", version(1, SAME_PRICE))
OTHER = processor("q", version(1, sequence("ab", within_ms=50)))


def held_back(begin_ms: int, user: str = "u") -> list[Event]:
    """Return events of which one match is complete, behind a partial match that began earlier."""
    return [
        event("a", begin_ms, price=1, user=user),
        event("a", begin_ms + 1, price=2, user=user),
        event("b", begin_ms + 2, price=2, user=user),
    ]


ENDINGS: dict[str, tuple[SnapshotProcessor, ...]] = {
    "pause": (V1.model_copy(update={"paused": True}),),
    "delete": (),
    "replace": (processor("p", version(2, sequence("xy"))),),
}


def totals(job: Pipeline) -> dict[tuple[str, int], tuple[int, int, int]]:
    """Return what each version has found, given up and open."""
    return {
        (of.processor_id, of.version): (of.totals.matches, of.totals.dropped, of.partial_matches)
        for of in job.job_status.versions
    }


@pytest.mark.parametrize("way", ENDINGS)
def test_what_was_only_held_back_comes_out_where_its_version_ends(way: str) -> None:
    job = job_of(V1, OTHER, shards=2)
    job.batch(held_back(1_000))
    # Of v and w nothing comes any more: their shards have no event to be called for.
    job.batch([*held_back(1_010, "v"), event("a", 1_013, price=7, user="w")])
    assert job.rows_of("match", "p") == []
    job.publish(*ENDINGS[way], OTHER)
    pass_by(job, 1_020, 1_030, 1_040)
    found = job.rows_of("match", "p")
    assert sorted((row.key, row.start_ms, row.end_ms) for row in found) == [
        ('["u"]', 1_001, 1_014),
        ('["v"]', 1_011, 1_014),
    ]
    assert totals(job)["p", 1] == (2, 3, 0)
    assert (job.job_status.totals.dropped, job.job_status.totals.released) == (3, 2)
    assert job.rows_of("error") == []
    assert [item.processor_id for item in job.timeline.intervals if item.version == 1] == ["q"]


def test_a_version_that_drains_gives_them_out_where_draining_ends() -> None:
    job = job_of(V1, shards=1)
    job.batch(held_back(1_000))
    draining = version(2, sequence("xy"), on_update="drain")
    job.publish(processor("p", draining))
    pass_by(job, 1_010, 1_020)
    assert job.rows_of("match") == []
    job.publish(processor("p", draining, version(3, SAME_PRICE)))
    pass_by(job, 1_030, 1_040, 1_050)
    assert spelled(job.rows_of("match")) == ["p1 match a1001 b1002"]
    assert job.rows_of("match")[0].end_ms == 1_021
    assert totals(job)["p", 1] == (1, 1, 0)


def test_the_skip_strategy_holds_among_what_comes_out() -> None:
    # Behind the open a1000 wait two matches that share events; the first takes the second away.
    overlapping = [
        event(name, 1_000 + place, price=price)
        for place, (name, price) in enumerate(zip("aaabb", (1, 2, 3, 2, 3), strict=True))
    ]
    job = job_of(V1, shards=1)
    job.batch(overlapping)
    job.publish()
    pass_by(job, 1_010, 1_020)
    assert spelled(job.rows) == ["p1 match a1001 b1003"]


def test_a_version_that_failed_gives_out_nothing_more() -> None:
    failing = version(1, SAME_PRICE, limits={"partial_matches_per_key": 5})
    job = job_of(processor("p", failing), shards=1)
    job.batch(held_back(1_000))
    job.batch(letters("aaaaaa", 1_010, user="v"))
    pass_by(job, 1_020, 1_030, 1_040)
    assert [item.end_reason for item in job.timeline.intervals] in ([], [EndReason.QUARANTINED])
    assert [row.kind for row in job.rows] == ["error"]
    assert totals(job)["p", 1] == (0, 0, 0)


def test_a_match_that_cannot_skip_where_its_version_ends_fails_its_rule_alone() -> None:
    throwing = SAME_PRICE | {
        "after_match_skip": {"strategy": "skip_to_first", "step": "a", "throw_on_miss": True}
    }
    job = job_of(processor("t", version(1, throwing)), V1, shards=1)
    job.batch(held_back(1_000))
    job.publish()
    pass_by(job, 1_010, 1_020, 1_030)
    assert spelled(job.rows) == ["p1 match a1001 b1002", "t1 error"]
    assert "cannot skip" in (job.rows[1].error or "")


def test_a_restart_and_a_replay_change_nothing_of_it() -> None:
    job = job_of(V1, shards=2)
    job.batch([*held_back(1_000), *held_back(1_000, "v")])
    job.publish(V1.model_copy(update={"paused": True}))
    job.batch(letters("z", 1_010))
    job.restart()
    job.batch(letters("z", 1_020))
    rows, status = list(job.rows), [dict(state) for state in job.states]
    assert len(rows) == 2
    job.replay()
    assert (job.rows, [dict(state) for state in job.states]) == (rows, status)
    for begin_ms in (1_030, 1_040):
        job.restart()
        job.batch(letters("z", begin_ms))
    assert job.rows == rows
    job.batch(letters("z", 1_050))
    assert job.timeline.intervals == ()


def test_what_is_gone_costs_shards_nothing() -> None:
    job = job_of(V1, shards=4)
    job.batch(held_back(1_000))
    job.publish()
    pass_by(job, 1_010, 1_020, 1_030)
    before = [state.accesses for state in job.states]
    job.batch(letters("z", 1_040))
    accesses = zip(before, (state.accesses for state in job.states), strict=True)
    # Whether there is anything at all, and whether anything has gone out.
    assert all(now - then <= 2 for then, now in accesses)


# Any split into batches

ENDS_MS = 1_030
STEPS: list[Document] = [
    SAME_PRICE,
    SAME_PRICE | {"after_match_skip": {"strategy": "skip_to_next"}},
    SAME_PRICE | {"after_match_skip": {"strategy": "skip_to_last", "step": "b"}, "within_ms": 12},
    SAME_PRICE | {"after_match_skip": {"strategy": "no_skip"}},
]
EVENTS = sorted_events("aab", 1_050, users="uvw", prices=st.integers(0, 3), max_size=25)

FEW_PRICES = sorted_events(
    "aab", 1_032, users="u", prices=st.integers(0, 2), min_size=4, max_size=15
)


def rows_of_split(
    pattern: Document, events: Sequence[Event], cuts: Sequence[int], **options: Any
) -> tuple[Counter[OutputRow], int]:
    job = Pipeline(stream(), Options(**options))
    # The end is known from the beginning, so that it does not depend on what has been read.
    job.publish(processor("p", version(1, pattern, until_ms=ENDS_MS)), OTHER)
    bounds = [0, *sorted(cut % (len(events) + 1) for cut in cuts), len(events)]
    for begin, end in pairwise(bounds):
        job.batch(events[begin:end])
    pass_by(job, 1_100, 1_110, 1_120)
    found = Counter(row._replace(epoch=None) for row in job.rows)
    return found, job.job_status.totals.dropped


@slow_property()
@given(
    st.sampled_from(STEPS),
    EVENTS,
    st.lists(st.integers(0, 30), max_size=6),
    st.fixed_dictionaries({"shards": st.integers(1, 3), "filters": st.booleans()}),
)
def test_any_split_gives_the_same_rows_and_counts(
    pattern: Document, events: list[Event], cuts: list[int], options: dict[str, Any]
) -> None:
    at_once = rows_of_split(pattern, events, [], shards=1)
    assert rows_of_split(pattern, events, cuts, **options) == at_once


@slow_property()
@given(st.sampled_from(STEPS[:2]), FEW_PRICES)
def test_what_comes_out_is_what_would_if_open_partial_matches_timed_out(
    pattern: Document, events: list[Event]
) -> None:
    found, dropped = rows_of_split(pattern, events, [3, 9], shards=2)
    before = [each for each in events if each["ts"] < ENDS_MS]
    # With a window nothing reaches, all partial matches end at one late watermark, earliest first.
    windowed = Pattern.from_document(pattern | {"within_ms": 10_000})
    result = find_matches(windowed, before, time_field="ts", key_by="user")
    assert dropped == result.open_partial_matches
    released = sum(
        len(_released(windowed, [each for each in before if each["user"] == user]))
        for user in "uvw"
    )
    given_out = [row for row in found.elements() if row.processor_id == "p"]
    assert len(given_out) == len(result.matches) + released


def _released(pattern: Pattern, events: list[Event]) -> list[Any]:
    result = find_matches(pattern, events, time_field="ts", final_watermark_ms=100_000)
    return [match for match in result.matches if match.at is None]


ABSENCE = processor("absence", version(1, absence("a", "b", 2_000)))
SEQUENCE = processor("sequence", version(1, sequence("ab", within_ms=50)))
# A match waits for a partial match that began before it, and has no window in which to end.
PRICIER = followed(
    ("a", "name = 'a'"),
    ("c", "name = 'c' AND price > a.price"),
    after_match_skip={"strategy": "skip_past_last_event"},
)
HELD = processor("held", version(1, PRICIER))


def job_that_closes(*processors: SnapshotProcessor) -> Pipeline:
    return job_of(*processors, delay_ms=100, shards=3)


def test_windows_and_waiting_events_end() -> None:
    closing = job_that_closes(ABSENCE, SEQUENCE)
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
    closing = job_that_closes(HELD)
    closing.batch(
        [event("a", 1_000, price=9), event("a", 1_001, price=1), event("c", 1_002, price=5)],
        until_ms=5_000,
    )
    assert closing.rows == []
    assert spelled(closing.close()) == ["held1 match a1001 c1002"]
    assert closing.rows[0].end_ms == 1_002
    # The partial match that held it back is given up, which is counted.
    assert closing.job_status.totals.dropped == 1
    assert closing.job_status.partial_matches == 0


def test_nothing_that_was_closed_is_extended_or_found_again_by_a_later_run() -> None:
    closing = job_that_closes(ABSENCE, SEQUENCE, HELD)
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
    closing = job_that_closes(ABSENCE)
    for begin_ms in (1_000, 1_001, 50_000):
        closing.restart()
        closing.batch(letters("a", begin_ms))
        closing.close()
    assert spelled(closing.rows) == [f"absence1 match a{ms}" for ms in (1_000, 1_001, 50_000)]


def test_events_of_the_last_batch_are_matched_before_it_closes() -> None:
    closing = job_that_closes(ABSENCE, SEQUENCE)
    closing.batch(letters("a", 1_000))
    assert spelled(closing.close(letters("b", 1_001))) == ["sequence1 match a1000 b1001"]


@pytest.mark.parametrize("times", [1, 2])
def test_a_kill_while_it_closes_changes_nothing(times: int) -> None:
    closing = job_that_closes(ABSENCE, SEQUENCE, HELD)
    closing.batch([*letters("ab", 1_000), *letters("a", 2_000, user="v")])
    rows = closing.close()
    for _ in range(times):
        assert closing.replay() == rows
    closing.batch(letters("b", 2_001, user="v"))
    assert closing.close() == []


def test_what_would_have_ended_by_a_schedule_ends_before_its_window() -> None:
    closing = job_that_closes(
        processor("short", version(1, absence("a", "b", 2_000), until_ms=1_500)),
        processor("long", version(1, absence("a", "b", 2_000), until_ms=3_500)),
    )
    closing.batch(letters("a", 1_000))
    assert spelled(closing.close()) == ["long1 match a1000"]

"""Events that leave the stream early, columns of every type, and what is counted."""

import math
from typing import Any

import polars as pl
import pytest
from pydantic_core import from_json

from contract.snapshot import SnapshotProcessor
from processor_runtime.batch_lines import BatchLines
from processor_runtime.output.events.unusable_events import (
    EARLIEST_MS,
    FUTURE,
    LATEST_MS,
    MALFORMED,
)
from processor_runtime.rows.event_block import TIME, Arrival, encode_events
from processor_runtime.rules.loading import RuleDefaults
from processor_runtime.rules.rule_set import compile_rules
from processor_runtime.schedule.batch_clock import BatchClock
from processor_runtime.stages.shard_matcher import MatchSettings, ShardMatcher
from tests.letters import (
    event,
    job_of,
    letters,
    processor,
    sequence,
    spelled,
    stream,
    version,
    with_step,
)
from tests.processor_runtime.core.pipeline import DictState, Options, Pipeline

UNREADABLE = '{"reason":"not a JSON object","raw":"{not json","offset":1}'


def job_with(delay_ms: int = 0, options: Options | None = None) -> Pipeline:
    job = Pipeline(stream(delay_ms), options)
    job.publish(processor("p", version(1, sequence("ab"))))
    return job


def test_an_event_up_to_the_watermark_is_late_and_matches_nothing() -> None:
    job = job_with(10)
    job.batch(letters("a", 1_000) + letters("x", 1_020))
    job.batch(letters("xb", 1_008) + letters("b", 1_010), until_ms=1_100)
    (first, second) = job.rows_of("late")
    assert job.job_status.watermark_ms == 1_100
    assert (first.start_ms, first.end_ms) == (1_008, 1_008)
    assert from_json(second.events or "") == event("b", 1_009, price=1)
    assert spelled(job.rows_of("match")) == ["p1 match a1000 b1010"]
    assert job.job_status.totals.late == 2


def test_nothing_is_late_before_the_first_watermark() -> None:
    job = job_with()
    job.batch(letters("ab", -5) + letters("ab", -20))
    job.batch(letters("x", 100), until_ms=200)
    assert job.rows_of("late") == []
    assert len(job.rows_of("match")) == 2


def test_a_late_event_does_not_move_time() -> None:
    job = job_with()
    job.batch(letters("x", 1_000))
    job.batch(letters("x", 500))
    assert (job.watermark_ms, job.newest_ms) == (999, 1_000)
    assert job.job_status.newest_event_ms == 1_000


def test_rows_that_cannot_be_used_are_told_apart_and_given_out() -> None:
    job = job_with()
    good = letters("ab", 1_000)
    bad: list[dict[str, Any]] = [
        {MALFORMED: UNREADABLE},
        event("a", 0) | {FUTURE: 9_999_999_999_999, "ts": 9_999_999_999_999},
        event("b", 0) | {"ts": None},
    ]
    job.batch([bad[0], good[0], bad[1], bad[2], good[1]], until_ms=1_100)
    rows = job.rows_of("error")
    told = [from_json(row.error or "") for row in rows]
    assert [error["reason"] for error in told] == ["malformed", "future", "no-time"]
    assert rows[0].events == UNREADABLE
    assert told[0]["message"] == "it could not be read as an event: not a JSON object"
    assert from_json(rows[1].events or "") == event("a", 9_999_999_999_999)
    assert from_json(rows[2].events or "") == event("b", 0) | {"ts": None}
    assert "max_future_skew" in told[1]["message"]
    assert told[2]["message"] == "it has no ts"
    assert {row.processor_id for row in rows} == {None}
    assert spelled(job.rows) == ["p1 match a1000 b1001"]
    totals = job.job_status.totals
    assert (totals.events, totals.errors, totals.matches) == (5, 3, 1)
    assert (totals.malformed, totals.why_malformed) == (3, "not a JSON object")


def test_a_time_outside_of_the_calendar_is_not_said_to_be_in_the_future() -> None:
    job = job_with()
    for time_ms in (EARLIEST_MS - 1, LATEST_MS + 1):
        job.batch([event("a", 0) | {FUTURE: time_ms, "ts": time_ms}])
    told = [from_json(row.error or "") for row in job.rows_of("error")]
    assert [error["reason"] for error in told] == ["out-of-range"] * 2
    assert told[0]["message"] == (
        "ts: not within the years 1 to 9999. It counts milliseconds since 1970"
    )


def test_times_at_the_ends_of_the_calendar_can_be_told() -> None:
    for time_ms in (EARLIEST_MS, LATEST_MS):
        job = job_with(delay_ms=10)
        job.batch([event("a", time_ms)])
        before = job.timeline
        job.publish(processor("p", version(2, sequence("ab"))))
        job.batch([event("b", time_ms)])
        lines = list(BatchLines().lines(job.job_status, before, job.timeline, 0.0))
        assert any("active from" in line for line in lines)


def test_a_batch_of_nothing_but_bad_rows_is_counted() -> None:
    job = job_with()
    job.batch([{MALFORMED: UNREADABLE}, {MALFORMED: UNREADABLE}])
    assert (job.job_status.totals.events, job.job_status.totals.errors) == (2, 2)
    assert len(job.rows) == 2


def test_rows_that_no_output_takes_are_counted_and_not_made() -> None:
    matching = MatchSettings(wanted=frozenset({"timeout"}))
    job = job_with(options=Options(matching=matching))
    job.batch([*letters("ab", 1_000), {MALFORMED: UNREADABLE}])
    job.batch(letters("x", 1_050))
    job.batch(letters("x", 10), until_ms=1_100)
    assert job.rows == []
    totals = job.job_status.totals
    assert (totals.matches, totals.errors, totals.late) == (1, 1, 1)


def test_what_each_rule_did_is_counted() -> None:
    job = job_of(
        version(1, sequence("ab")),
        processor("q", version(1, sequence("ac", within_ms=5))),
        shards=3,
    )
    job.batch(letters("a xb", 1_000), until_ms=1_100)
    p, q = job.job_status.versions
    assert (p.totals.events, p.totals.matches, p.last_match_ms) == (2, 1, 1_003)
    assert (q.totals.events, q.totals.timeouts, q.last_match_ms) == (1, 1, None)
    job.batch([event("a", 1_200, user=user) for user in "uvwxyz"], until_ms=1_200)
    p, q = job.job_status.versions
    assert (p.partial_matches, q.partial_matches) == (6, 6)
    assert job.job_status.partial_matches == 12
    assert job.job_status.state_bytes > 0


def test_numbers_that_are_equal_are_one_key_and_what_is_no_number_is_none() -> None:
    job = Pipeline(stream().model_copy(update={"ddl": "k DOUBLE, name STRING, ts BIGINT"}))
    job.publish(processor("p", version(1, sequence("ab"), key_by=["k"])))
    job.batch(
        [
            {"k": value, "name": name, "ts": time_ms}
            for value, name, time_ms in (
                (0.0, "a", 1_000),
                (-0.0, "b", 1_001),
                (math.nan, "a", 1_002),
                (None, "b", 1_003),
            )
        ],
        until_ms=1_100,
    )
    assert sorted(row.key or "" for row in job.rows) == ["[0.0]", "[null]"]


def test_columns_that_no_expression_can_read_do_no_harm() -> None:
    # Enough rules that their tests are looked up in a table.
    job = Pipeline(stream().model_copy(update={"ddl": "blob BINARY, name STRING, ts BIGINT"}))
    rules = [
        processor(f"p{number:02}", version(1, sequence([f"n{number}", "b"]), key_by=None))
        for number in range(80)
    ]
    job.publish(*rules)
    job.batch(
        [{"blob": b"\x00\xff", "name": "n7", "ts": 1_000}, {"blob": None, "name": "b", "ts": 1_001}]
    )
    job.restart()
    job.advance(1_100)
    (row,) = job.rows
    assert (row.processor_id, row.kind) == ("p07", "match")


def test_a_shard_knows_late_events_too() -> None:
    # The key stage may be told of the watermark one batch later.
    job = job_with()
    times = pl.DataFrame({TIME: [1_000, 1_010], "user": ["u", "u"], "name": ["a", "b"]})
    events = times.with_columns(price=pl.lit(0), ts=pl.col(TIME))
    job.batch()
    rules = compile_rules(job.timeline, job.stream, RuleDefaults())
    (group,) = rules.groups
    block = encode_events(group, Arrival(3, 0), events)
    shard = ShardMatcher(0, rules, DictState(), BatchClock(3, 1, 1_005, 0))
    rows = [row for chunk in shard.match([block]) for row in chunk]
    assert [(row.kind, row.start_ms) for row in rows] == [("late", 1_000)]
    assert (shard.status.counts.late, shard.status.waiting_events) == (1, 1)


# What reaches the shards


def waiting(job: Pipeline) -> int:
    return sum(status.waiting_events for status in job.statuses.values())


def test_an_event_that_can_break_strict_contiguity_reaches_its_shard() -> None:
    job = job_of(version(1, with_step(sequence("ab"), 1, contiguity="next")), delay_ms=100)
    job.batch(letters("ax b", 1_000))
    assert waiting(job) == 3
    job.advance(1_200)
    assert job.rows == []


SELECTORS = [
    processor("p", version(1, sequence("ab"))),
    processor("q", version(1, sequence("ac"))),
    processor("r", version(1, sequence("ad"), key_by=["price"])),
    processor("s", version(1, sequence("ce"), key_by=None)),
]
SWITCH = processor("p", version(1, sequence("ab")), version(2, sequence("cd"), from_ms=1_005))


@pytest.mark.parametrize(
    ("rules", "options", "text", "count"),
    [
        pytest.param(SELECTORS[:1], {}, " axybz", 2, id="none that concerns no rule"),
        pytest.param(SELECTORS[:1], {"filters": False}, " axybz", 5, id="all without filters"),
        # By user: a, b, c; by price: a, d; without key: c, e.
        pytest.param(SELECTORS, {}, " abcde", 7, id="each selector with a rule for it"),
        # Up to 1004 a and b; from 1005 on c and d.
        pytest.param([SWITCH], {}, " abcdabcd", 4, id="the rules of its time"),
    ],
)
def test_an_event_reaches_the_shards_of_its_rules(
    rules: list[SnapshotProcessor], options: dict[str, Any], text: str, count: int
) -> None:
    job = job_of(*rules, delay_ms=100, **options)
    job.batch(letters(text, 1_000))
    assert waiting(job) == count

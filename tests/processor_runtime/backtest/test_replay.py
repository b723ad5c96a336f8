"""A backtest finds what a job gives out over the same events, however either reads them."""

from collections import Counter
from typing import Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from contract.snapshot import SnapshotProcessor
from processor_runtime.backtest.replay import replayed
from processor_runtime.rows.event_block import TIME
from processor_runtime.rows.output_rows import ROW_KINDS
from processor_runtime.rules.loading import RuleDefaults
from processor_runtime.rules.rule_set import compile_rules
from processor_runtime.schedule.timeline import Timeline, resolve
from processor_runtime.stages.shard_matcher import MatchSettings
from processor_runtime.stages.unusable_events import FUTURE, MALFORMED
from tests.processor_runtime.core.pipeline import Event, Options, Pipeline
from tests.processor_runtime.core.published import (
    absence,
    contents,
    event,
    processor,
    sequence,
    stream,
    version,
)

RULES = [
    processor("a", version(1, sequence("ab", within_ms=6))),
    processor("b", version(1, absence("a", "b", 7))),
    processor(
        "c",
        version(
            1,
            sequence("abc", within_ms=20, after_match_skip={"strategy": "skip_past_last_event"}),
            key_by=None,
        ),
    ),
    processor(
        "d",
        version(
            1,
            sequence("a"),
            alert={"group": {"for": 7}, "budget": {"at_most": 2, "for": 30}},
        ),
    ),
]


LOOP = {
    "steps": [
        {"name": "a", "where": "name = 'a'", "times": {"from": 1, "to": None}},
        {"name": "b", "where": "name = 'b'", "contiguity": "followed_by"},
    ],
    "within_ms": 10,
}
RISE = {
    "steps": [
        {"name": "a", "where": "name = 'a'"},
        {"name": "b", "where": "name = 'b' AND price > a.price + 2", "contiguity": "followed_by"},
    ],
    "within_ms": 30,
}
PATTERNS = [
    sequence("ab", within_ms=20),
    sequence("abc", within_ms=15),
    sequence("ab", within_ms=20, after_match_skip={"strategy": "skip_past_last_event"}),
    sequence("a"),
    absence("a", "b", 7),
    LOOP,
    RISE,
]
CLAUSE = (
    "MATCH_RECOGNIZE (PARTITION BY user ORDER BY ts MEASURES LAST(B.price) AS price "
    "AFTER MATCH SKIP PAST LAST ROW PATTERN (A B+ C) WITHIN INTERVAL '20' MILLISECOND "
    "DEFINE A AS name = 'a', B AS name = 'b' AND price > FIRST(A.price), C AS name = 'c')"
)
ALERTS = st.fixed_dictionaries(
    {},
    optional={
        "suppress": st.fixed_dictionaries(
            {"for": st.sampled_from([3, 10, 40]), "at_most": st.integers(1, 2)}
        ),
        "group": st.fixed_dictionaries({"for": st.sampled_from([7, 30])}),
        "budget": st.fixed_dictionaries(
            {"for": st.sampled_from([10, 50]), "at_most": st.integers(1, 2)}
        ),
    },
)
KEYS = st.sampled_from([["user"], ["name"], None])


@st.composite
def random_rules(draw: st.DrawFn) -> list[SnapshotProcessor]:
    """Return up to three rules: any pattern, any key, any way of making less noise."""
    patterns = st.sampled_from(PATTERNS)
    rules = [
        processor(name, version(1, draw(patterns), key_by=draw(KEYS), alert=draw(ALERTS)))
        for name in "abc"[: draw(st.integers(1, 3))]
    ]
    if draw(st.booleans()):
        rules.append(
            processor("d", version(1, {"match_recognize": CLAUSE}, key_by=None, alert=draw(ALERTS)))
        )
    return rules


@st.composite
def arrivals(draw: st.DrawFn) -> tuple[int, list[Event]]:
    """Return an allowed delay, and events in order of arrival, late by no more than that."""
    delay_ms = draw(st.sampled_from([0, 3, 30]))
    arriving: list[tuple[int, int, Event]] = []
    time_ms = 1_000
    for place in range(draw(st.integers(1, 60))):
        time_ms += draw(st.sampled_from([0, 1, 1, 2, 5]))
        happened = event(
            draw(st.sampled_from("abcx")), time_ms, user=draw(st.sampled_from("uv")), price=place
        )
        arriving.append((time_ms + draw(st.integers(0, delay_ms)), place, happened))
    return delay_ms, [happened for *_, happened in sorted(arriving, key=lambda item: item[:2])]


def history(events: list[Event]) -> pl.DataFrame:
    frame = pl.DataFrame(
        [dict(each) for each in events],
        schema={"user": pl.String, "name": pl.String, "price": pl.Int64, "ts": pl.Int64},
    )
    return frame.select(
        pl.col("ts").alias(TIME),
        pl.all(),
        pl.lit(None, pl.String).alias(MALFORMED),
        pl.lit(None, pl.Int64).alias(FUTURE),
    ).sort(TIME, maintain_order=True)


@settings(max_examples=40, deadline=None)
@given(
    arrived=arrivals(),
    published=st.just(RULES) | random_rules(),
    closes=st.booleans(),
    per_batch=st.integers(1, 70),
    data=st.data(),
)
def test_a_backtest_finds_what_a_job_gives_out(
    *,
    arrived: tuple[int, list[Event]],
    published: list[SnapshotProcessor],
    closes: bool,
    per_batch: int,
    data: st.DataObject,
) -> None:
    delay_ms, events = arrived
    every_kind = MatchSettings(frozenset(ROW_KINDS))  # what is suppressed is told, too
    job = Pipeline(stream(delay_ms, order_by=["price"]), Options(matching=every_kind))
    job.publish(*published)
    rest = events
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        job.batch(rest[:size])
        rest = rest[size:]
    newest_ms = max(each["ts"] for each in events)
    if closes:
        job.close()
    else:
        job.advance(newest_ms)
    timeline = resolve(Timeline(), job.snapshot, None)
    rules = compile_rules(timeline, job.stream, RuleDefaults())
    rows: list[Any] = []
    counted = Counter[str]()
    for batch in replayed(
        rules, history(events), closes_windows=closes, events_per_batch=per_batch
    ):
        rows += batch.rows
        for counts in batch.status.rules.values():
            counted.update(grouped=counts.grouped, suppressed=counts.suppressed)
    assert contents(rows) == contents(row for row in job.rows if row.kind == "match")
    kinds = Counter(row.kind for row in job.rows)
    assert counted == Counter(grouped=kinds["grouped"], suppressed=kinds["suppressed"])

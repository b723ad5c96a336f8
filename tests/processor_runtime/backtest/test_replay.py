"""A backtest finds what a job gives out over the same events, however either reads them."""

from typing import Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from processor_runtime.backtest.replay import replayed
from processor_runtime.rows.event_block import TIME
from processor_runtime.rules.loading import RuleDefaults
from processor_runtime.rules.rule_set import compile_rules
from processor_runtime.schedule.timeline import Timeline, resolve
from processor_runtime.stages.unusable_events import FUTURE, MALFORMED
from tests.processor_runtime.core.pipeline import Event, Pipeline
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
]


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
@given(arrived=arrivals(), closes=st.booleans(), per_batch=st.integers(1, 70), data=st.data())
def test_a_backtest_finds_what_a_job_gives_out(
    *, arrived: tuple[int, list[Event]], closes: bool, per_batch: int, data: st.DataObject
) -> None:
    delay_ms, events = arrived
    job = Pipeline(stream(delay_ms, order_by=["price"]))
    job.publish(*RULES)
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
    for batch in replayed(
        rules, history(events), closes_windows=closes, events_per_batch=per_batch
    ):
        rows += batch.rows
    assert contents(rows) == contents(row for row in job.rows if row.kind == "match")

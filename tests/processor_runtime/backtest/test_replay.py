"""A backtest finds what a job gives out over the same events, however either reads them."""

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.snapshot import SnapshotProcessor
from processor_runtime.backtest.replay import replayed
from processor_runtime.output.events.unusable_events import FUTURE, MALFORMED
from processor_runtime.rows.event_block import TIME
from processor_runtime.rows.output_rows import ROW_KINDS
from processor_runtime.rules.loading import RuleDefaults
from processor_runtime.rules.rule_set import compile_rules
from processor_runtime.schedule.timeline import Timeline, resolve
from processor_runtime.stages.shard_matcher import MatchSettings
from tests.letters import absence, contents, event, job_of, processor, sequence, stream, version
from tests.processor_runtime.core.pipeline import Event, Options, Pipeline
from tests.processor_runtime.core.random_rules import KEYS, arrivals, rule_patterns
from tests.properties import slow_property

SKIPS = {"after_match_skip": {"strategy": "skip_past_last_event"}}
QUIET = {"group": {"for": 7}, "budget": {"at_most": 2, "for": 30}}
RULES = [
    processor("a", version(1, sequence("ab", within_ms=6))),
    processor("b", version(1, absence("a", "b", 7))),
    processor("c", version(1, sequence("abc", within_ms=20, **SKIPS), key_by=None)),
    processor("d", version(1, sequence("a"), alert=QUIET)),
]
CLAUSE = (
    "MATCH_RECOGNIZE (PARTITION BY user ORDER BY ts MEASURES LAST(B.price) AS price "
    "AFTER MATCH SKIP PAST LAST ROW PATTERN (A B+ C) WITHIN INTERVAL '20' MILLISECOND "
    "DEFINE A AS name = 'a', B AS name = 'b' AND price > FIRST(A.price), C AS name = 'c')"
)
AT_MOST = st.integers(1, 2)
ALERTS = st.fixed_dictionaries(
    {},
    optional={
        "suppress": st.fixed_dictionaries(
            {"for": st.sampled_from([3, 10, 40]), "at_most": AT_MOST}
        ),
        "group": st.fixed_dictionaries({"for": st.sampled_from([7, 30])}),
        "budget": st.fixed_dictionaries({"for": st.sampled_from([10, 50]), "at_most": AT_MOST}),
    },
)


@st.composite
def random_rules(draw: st.DrawFn) -> list[SnapshotProcessor]:
    """Return up to three rules: any pattern, any key, any way of making less noise."""
    rules = [
        processor(name, version(1, draw(rule_patterns()), key_by=draw(KEYS), alert=draw(ALERTS)))
        for name in "abc"[: draw(st.integers(1, 3))]
    ]
    if draw(st.booleans()):
        rules.append(
            processor("d", version(1, {"match_recognize": CLAUSE}, key_by=None, alert=draw(ALERTS)))
        )
    return rules


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


@dataclass(frozen=True, slots=True)
class Story:
    """Rules, what arrives in which batches of a job, and how much a backtest reads at once."""

    published: list[SnapshotProcessor]
    delay_ms: int
    batches: list[list[Event]]
    per_batch: int
    closes: bool


@st.composite
def stories(draw: st.DrawFn) -> Story:
    delay_ms, events = draw(arrivals(users="uv"))
    cuts = sorted(draw(st.sets(st.integers(1, len(events)), max_size=8)))
    batches = [events[begin:end] for begin, end in pairwise([0, *cuts, len(events)])]
    published = draw(st.one_of(st.just(RULES), random_rules(), random_rules()))
    return Story(published, delay_ms, batches, draw(st.integers(1, 70)), closes=draw(st.booleans()))


@slow_property()
@given(stories())
def test_a_backtest_finds_what_a_job_gives_out(story: Story) -> None:
    events = [event for batch in story.batches for event in batch]
    every_kind = MatchSettings(frozenset(ROW_KINDS))  # what is suppressed is told, too
    job = Pipeline(stream(story.delay_ms, order_by=["price"]), Options(matching=every_kind))
    job.publish(*story.published)
    for batch in story.batches:
        job.batch(batch)
    newest_ms = max(each["ts"] for each in events)
    if story.closes:
        job.close()
    else:
        job.advance(newest_ms)
    timeline = resolve(Timeline(), job.snapshot, None)
    rules = compile_rules(timeline, job.stream, RuleDefaults())
    rows: list[Any] = []
    counted = Counter[str]()
    for part in replayed(
        rules, history(events), closes_windows=story.closes, events_per_batch=story.per_batch
    ):
        rows += part.rows
        for counts in part.status.rules.values():
            counted.update(grouped=counts.grouped, suppressed=counts.suppressed)
    assert contents(rows) == contents(row for row in job.rows if row.kind == "match")
    kinds = Counter(row.kind for row in job.rows)
    assert counted == Counter(grouped=kinds["grouped"], suppressed=kinds["suppressed"])


@pytest.mark.parametrize(("count", "batches"), [(6, 6), (1_000, 20)])
def test_few_events_are_read_in_few_batches(count: int, batches: int) -> None:
    job = job_of(*RULES[:1])
    rules = compile_rules(resolve(Timeline(), job.snapshot, None), job.stream, RuleDefaults())
    events = history([event("x", number) for number in range(count)])
    read = [part.counts.events for part in replayed(rules, events, closes_windows=True)]
    assert len(read) == batches + 1  # the last one closes windows
    assert sum(read) == count

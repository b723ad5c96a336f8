"""The stateful processor alone, in Spark's own tester for them, which needs no Java."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
from pydantic_core import from_json
from pyspark.sql.streaming.tws_tester import TwsTester

from contract.asked_keys import AskedKey
from contract.snapshot import Snapshot, SnapshotProcessor
from processor_runtime.output.events.unusable_events import FUTURE, MALFORMED
from processor_runtime.rows.event_block import TIME
from processor_runtime.rows.shard_status import EventCounts, read_status
from processor_runtime.rules.loading import RuleDefaults
from processor_runtime.rules.rule_set import RuleSet, compile_rules
from processor_runtime.schedule.batch_clock import NO_WATERMARK_MS, BatchClock
from processor_runtime.schedule.timeline import Timeline, resolve
from processor_runtime.sources.event_frames import EventFrames
from processor_runtime.sources.row_events import RowEvents
from processor_runtime.spark.plan.block_rows import (
    SCHEMA,
    Received,
    counts_row,
    event_row,
    question_row,
)
from processor_runtime.spark.plan.shard_processor import ShardProcessor
from processor_runtime.spark.plan.stages import STATUS, KeyStageTask, ShardStageTask
from processor_runtime.stages.asked_keys import questions
from processor_runtime.stages.key_stage import KeyStage, KeyStageSettings
from processor_runtime.stages.shard_matcher import MatchSettings
from tests.letters import absence, event, processor, sequence, stream, version
from tests.processor_runtime.core.pipeline import Event

SHARD = 7


@dataclass(slots=True)
class GivenRules:
    """The rules of a test and the time of its batch, as a worker would find them."""

    rules: RuleSet
    clock: BatchClock = field(default_factory=lambda: BatchClock(0, 1, NO_WATERMARK_MS, 0))
    asks: list[AskedKey] = field(default_factory=list)

    def current(self, watermark_ms: int | None = None) -> tuple[BatchClock, RuleSet]:
        del watermark_ms  # what Spark tells before the first event is no time
        return self.clock, self.rules

    def asked(self) -> list[AskedKey]:
        return self.asks


class OneShard:
    """A shard in Spark's tester, and the first stage in front of it."""

    def __init__(self, *published: SnapshotProcessor) -> None:
        snapshot = Snapshot(format=1, epoch=1, stream=stream(), processors=list(published))
        timeline = resolve(Timeline(), snapshot, None)
        self.given = GivenRules(compile_rules(timeline, snapshot.stream, RuleDefaults()))
        # Rows carry no event time of their own: none is late to Spark.
        self.tester = TwsTester(
            ShardProcessor(ShardStageTask(self.given, MatchSettings())),
            timeMode="EventTime",
            eventTimeExtractor=lambda _row: 2**62,
        )

    def send(self, *events: Event, newest_ms: Iterable[int] = ()) -> pd.DataFrame:
        """Give events to the shard, in a batch with the watermark as it is.

        Partitions tell it that these are their newest times.
        """
        schema = {TIME: pl.Int64, "user": pl.String, "name": pl.String, "price": pl.Int64}
        rows = [{TIME: e["ts"], MALFORMED: None, FUTURE: None, **e} for e in events]
        frame = pl.DataFrame(
            rows, schema={**schema, "ts": pl.Int64, MALFORMED: pl.String, FUTURE: pl.Int64}
        )
        stage = KeyStage(self.given.rules, KeyStageSettings(1), self.given.clock)
        sent = [event_row(SHARD, block) for _, block in stage.blocks(frame, 0)]
        sent += [counts_row(SHARD, EventCounts(newest_ms=each)) for each in newest_ms]
        sent += [
            question_row(SHARD, each) for _, each in questions(stage.rules, self.given.asks, 1)
        ]
        return self.tester.testInPandas(SHARD, pd.DataFrame(sent, columns=SCHEMA.names))

    def advance(self, watermark_ms: int) -> pd.DataFrame:
        """Let the watermark come to a time, which fires timers in a batch of its own."""
        batch_id = self.given.clock.batch_id + 1
        self.given.clock = BatchClock(batch_id, 1, watermark_ms, 0)
        return self.tester.setWatermark(watermark_ms)

    @property
    def timers(self) -> list[int]:
        self.tester.handle.setGroupingKey(SHARD)
        return list(self.tester.handle.listTimers())

    @property
    def state(self) -> dict[str, bytes]:
        found = self.tester.peekMapState("shard", SHARD)
        return {name: value for (name,), (value,) in found.items()}


def matches(rows: pd.DataFrame) -> list[Any]:
    """Return the events by step of each match, by their names and times."""
    if rows.empty:
        return []
    return [
        {
            step: [f"{taken['name']}{taken['ts']}" for taken in events]
            for step, events in from_json(text).items()
        }
        for text in rows.loc[rows["kind"] == "match", "events"]
    ]


def test_events_wait_in_state_and_a_timer_brings_their_match() -> None:
    shard = OneShard(processor("p", version(1, sequence("ab"))))

    rows = shard.send(event("b", 1_010), event("a", 1_000))
    assert list(rows["kind"]) == [STATUS]
    assert from_json(rows["output"].iloc[-1])["shard"] == SHARD
    assert shard.timers == [1_000]
    assert any("/header" in name for name in shard.state)
    assert matches(shard.advance(999)) == []
    rows = shard.advance(1_010)
    assert list(rows["kind"]) == ["match", STATUS]
    assert matches(rows) == [{"a": ["a1000"], "b": ["b1010"]}]


def test_a_timer_brings_an_absence_and_then_nothing_is_left() -> None:
    shard = OneShard(processor("p", version(1, absence("a", "b", 50))))
    shard.send(event("a", 1_000, user="somebody"))
    assert matches(shard.advance(1_001)) == []
    assert b"somebody" in b"".join(shard.state.values())
    # At 1050 the window closes.
    assert shard.timers == [1_050]

    assert matches(shard.advance(1_050)) == [{"a": ["a1000"]}]

    assert shard.timers == []
    assert b"somebody" not in b"".join(shard.state.values())


def test_a_key_that_is_asked_about_is_told_of_without_events_of_its_own() -> None:
    shard = OneShard(processor("p", version(1, sequence("ab"))))
    shard.send(event("a", 1_000))
    shard.advance(1_000)
    shard.given.asks.append(AskedKey(id="0" * 16, processor_id="p", key=["u"]))
    before = dict(shard.state)
    rows = shard.send(event("x", 1_010, user="somebody else"))
    (answer,) = read_status(rows.loc[rows["kind"] == STATUS, "output"].item()).answers
    assert answer.open == 1
    assert answer.partial_matches[0].awaited == ["b"]
    assert shard.state == before


def test_a_timer_that_is_not_wanted_any_more_is_deleted() -> None:
    shard = OneShard(processor("p", version(1, absence("a", "b", 50))))
    shard.send(event("a", 1_000))
    shard.advance(1_001)
    assert shard.timers == [1_050]

    shard.send(event("b", 1_020))

    assert shard.timers == [1_020]
    assert matches(shard.advance(1_020)) == []
    assert shard.timers == []
    assert matches(shard.advance(1_100)) == []


def test_a_job_matches_up_to_the_newest_time_of_all_partitions_and_needs_no_timer() -> None:
    shard = OneShard(processor("p", version(1, sequence("ab"))))
    shard.given.clock = BatchClock(0, 1, NO_WATERMARK_MS, 0, watermark_delay_ms=101)
    rows = shard.send(event("b", 1_010), event("a", 1_000), newest_ms=[1_050, 1_111, 1_020])
    assert matches(rows) == [{"a": ["a1000"], "b": ["b1010"]}]
    assert shard.timers == []
    assert read_status(rows["output"].iloc[-1]).counts.newest_ms == 1_111
    assert matches(shard.send(event("a", 1_012), event("b", 1_015), newest_ms=[1_115])) == []
    assert matches(shard.send(newest_ms=[1_117])) == [{"a": ["a1012"], "b": ["b1015"]}]


def test_sources_that_are_read_in_one_task_have_other_places_and_tell_of_themselves() -> None:
    given = OneShard(processor("p", version(1, sequence("ab")))).given
    columns = pa.schema([(n, pa.string()) for n in ("user", "name")] + [("ts", pa.int64())])
    batch = pa.RecordBatch.from_pylist(
        [{"user": "u", "name": "a", "price": 1, "ts": 1_000}],
        columns.append(pa.field("price", pa.int64())),
    )
    frames = EventFrames.of_schema(batch.schema, "ts")
    positions, told = [], []
    for number, name in enumerate(("left", "right")):
        task = KeyStageTask(RowEvents(frames), given, KeyStageSettings(1), (SHARD,), number, name)
        for sent in task([batch]):
            received = Received(sent.to_pandas().itertuples(index=False, name=None))
            positions += [block.arrival.position for block in received.blocks]
            told += [received.counts.by_source] if received.counts.events else []
    assert positions == [0, 1 << 58]
    assert told == [{"left": 1_000}, {"right": 1_000}]

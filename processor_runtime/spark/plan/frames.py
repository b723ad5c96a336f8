"""The plan of the stream: from a frame of events to a frame of output rows.

    source ──► key stage ──┐
    source ──► key stage ──┴──union, watermark, shuffle by shard──► matching stage ──► rows

Works on streaming frames; what differs from batch to batch (time, rules) is not in the plan but
asked of a `RuleSource` by every task.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as all of Spark's documentation has it

from processor_runtime.job_file.timing import Trigger
from processor_runtime.sources.event_frames import EventFrames, EventReader
from processor_runtime.sources.tick_events import TickEvents
from processor_runtime.spark.plan.block_rows import DDL
from processor_runtime.spark.plan.shard_processor import ShardProcessor
from processor_runtime.spark.plan.stages import STAGE_DDL, KeyStageTask, ShardStageTask
from processor_runtime.spark.plan.worker_rules import RuleSource
from processor_runtime.stages.key_stage import TICK, KeyStageSettings
from processor_runtime.stages.shard_matcher import MatchSettings

_EVENT_TIME: Final = "_event_time"


@dataclass(frozen=True, slots=True)
class TimeRules:
    """Which time events have.

    `column` is the event time column, `None` for processing time. Events may come `delay_ms` late.
    Those further ahead of the clock than `max_future_skew_ms` are refused; `None` takes any.
    """

    column: str | None
    delay_ms: int = 0
    max_future_skew_ms: int | None = None

    @property
    def watermark_delay_ms(self) -> int:
        """How far Spark's watermark is behind the newest event.

        One millisecond more than the delay, so that an event as old as the newest one is on time,
        as in Flink. By processing time all events of a batch are of one time and none come later.
        """
        return 0 if self.column is None else self.delay_ms + 1


@dataclass(frozen=True, slots=True)
class StagePlan:
    """What both stages are built with.

    `shard_keys` are the values Spark groups by (see `spread_shard_keys`). `by_clock` is whether
    events have the time at which they are read.
    """

    rules: RuleSource
    shard_keys: tuple[int, ...]
    matching: MatchSettings = field(default_factory=MatchSettings)
    filters: bool = True
    by_clock: bool = False


@dataclass(frozen=True, slots=True)
class PlannedSource:
    """A source of a query: its rows, what the first stage reads from them, its name among several.

    One without a name, such as that of ticks, does not hold time back.
    """

    frame: DataFrame
    read: EventReader
    name: str = ""


def ticks(spark: SparkSession, trigger: Trigger, frames: EventFrames) -> PlannedSource:
    """Return a source of ticks, so that batches run, and time goes on, without events.

    There is one a second, or, where the job ends by itself, one at the beginning of each query.
    """
    reader = spark.readStream
    if trigger.processing_time_ms is not None:
        reader = reader.format("rate").option("rowsPerSecond", 1)
    else:
        reader = reader.format("rate-micro-batch").option("rowsPerBatch", 1)
    # Of rows without a column Spark hands over none.
    return PlannedSource(reader.load().select(F.lit(1).alias(TICK)), TickEvents(frames))


def output_rows(
    sources: Sequence[PlannedSource], watermark_delay_ms: int, plan: StagePlan
) -> DataFrame:
    """Return the rows of output, with a status row per shard, of a stream.

    `sources`: of its events, in the order in which Spark numbers them.
    """
    settings = KeyStageSettings(
        len(plan.shard_keys), plan.matching.wanted, plan.filters, plan.by_clock
    )
    blocks = [
        each.frame.mapInArrow(
            KeyStageTask(each.read, plan.rules, settings, plan.shard_keys, number, each.name), DDL
        )
        for number, each in enumerate(sources)
    ]
    with_time = reduce(DataFrame.union, blocks).withColumn(
        _EVENT_TIME, F.timestamp_millis("until_ms")
    )
    timed = with_time.withWatermark(_EVENT_TIME, f"{watermark_delay_ms} milliseconds")
    return (
        timed.drop(_EVENT_TIME)
        .groupBy("shard")
        .transformWithStateInPandas(
            ShardProcessor(ShardStageTask(plan.rules, plan.matching)),
            outputStructType=STAGE_DDL,
            outputMode="Append",
            timeMode="EventTime",
        )
    )


def spread_shard_keys(spark: SparkSession, shards: int) -> tuple[int, ...]:
    """Return one grouping value per shard such that each shard has a partition of its own.

    Spark's hash would put several small numbers into one partition and leave others empty.
    """
    found: dict[int, int] = {}
    begin, size = 0, 64 * shards
    while len(found) < shards:
        numbers = spark.range(begin, begin + size).select(F.col("id").cast("int").alias("key"))
        place = F.pmod(F.hash("key"), F.lit(shards))
        for key, partition in numbers.select("key", place).collect():
            found.setdefault(partition, key)
        begin += size
    return tuple(found[partition] for partition in range(shards))

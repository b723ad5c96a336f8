"""The plan of the stream: from a frame of events to a frame of output rows.

    source ──► key stage ──watermark, shuffle by shard──► matching stage ──► rows

Works on streaming frames; what differs from batch to batch (time, rules) is not in the plan but
asked of a `RuleSource` by every task.
"""

from dataclasses import dataclass, field
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as all of Spark's documentation has it

from processor_runtime.job_file.timing import Trigger
from processor_runtime.sources.event_frames import EventReader
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


def with_ticks(events: DataFrame, trigger: Trigger) -> DataFrame:
    """Return events with ticks, so that batches run, and time goes on, without events.

    A tick is a row without a time of its own that the first stage takes for nothing else. There is
    one a second, or, where the job ends by itself, one at the beginning of each query.
    """
    ticks = events.sparkSession.readStream
    if trigger.processing_time_ms is not None:
        ticks = ticks.format("rate").option("rowsPerSecond", 1)
    else:
        ticks = ticks.format("rate-micro-batch").option("rowsPerBatch", 1)
    empty = [F.lit(None).cast(field.dataType).alias(field.name) for field in events.schema]
    marked = ticks.load().select(*empty, F.lit(1).alias(TICK))
    return events.withColumn(TICK, F.lit(0)).unionByName(marked)


def output_rows(
    source: DataFrame, read: EventReader, watermark_delay_ms: int, plan: StagePlan
) -> DataFrame:
    """Return the rows of output, with a status row per shard, of a stream.

    `source`: what `read`, in the first stage, makes events of.
    """
    settings = KeyStageSettings(
        len(plan.shard_keys), plan.matching.wanted, plan.filters, plan.by_clock
    )
    blocks = source.mapInArrow(KeyStageTask(read, plan.rules, settings, plan.shard_keys), DDL)
    delay = f"{watermark_delay_ms} milliseconds"
    with_time = blocks.withColumn(_EVENT_TIME, F.timestamp_millis("until_ms"))
    timed = with_time.withWatermark(_EVENT_TIME, delay).drop(_EVENT_TIME)
    return timed.groupBy("shard").transformWithStateInPandas(
        ShardProcessor(ShardStageTask(plan.rules, plan.matching)),
        outputStructType=STAGE_DDL,
        outputMode="Append",
        timeMode="EventTime",
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

"""The plan of the stream: from a frame of events to a frame of output rows.

    events ──event time, watermark──► key stage ──shuffle by shard──► matching stage ──► rows

Works on streaming frames; what differs from batch to batch (time, rules) is not in the plan but
asked of a `RuleSource` by every task.
"""

from dataclasses import dataclass, field, replace
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as all of Spark's documentation has it
from pyspark.sql.types import LongType, TimestampNTZType

from processor_runtime.job_file.timing import Trigger
from processor_runtime.output.events.unusable_events import (
    EARLIEST_MS,
    FUTURE,
    LATEST_MS,
    MALFORMED,
)
from processor_runtime.rows.event_block import TIME
from processor_runtime.spark.plan.block_rows import DDL
from processor_runtime.spark.plan.stages import STAGE_DDL, EventReader, KeyStageTask, ShardProcessor
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


def timed_events(events: DataFrame, time: TimeRules) -> DataFrame:
    """Return events with their time and a watermark.

    `events`: the columns of the stream, and `MALFORMED`.
    """
    given_ms = _time_ms(events, time)
    latest_ms: Column = F.lit(LATEST_MS)
    if time.max_future_skew_ms is not None:
        now_ms = F.unix_millis(F.current_timestamp())
        latest_ms = F.least(latest_ms, now_ms + time.max_future_skew_ms)
    is_usable = F.col(TIME).between(F.lit(EARLIEST_MS), latest_ms)
    columns = [name for name in events.columns if name not in {MALFORMED, TICK}]
    ticks = [TICK] if TICK in events.columns else []
    timed = events.select(given_ms.alias(TIME), *columns, MALFORMED, *ticks)
    checked = timed.select(
        F.when(is_usable & F.col(MALFORMED).isNull(), F.col(TIME)).alias(TIME),
        *columns,
        MALFORMED,
        F.when(~is_usable, F.col(TIME)).alias(FUTURE),
        *ticks,
    )
    # Ticks are dropped by the first stage: Spark would push a filter below the watermark.
    return _with_watermark(checked, F.col(TIME), time)


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


def output_rows(timed: DataFrame, plan: StagePlan) -> DataFrame:
    """Return the rows of output, with a status row per shard, of a stream of timed events."""
    return _matched(timed.mapInArrow(_key_stage(plan), DDL), plan)


def output_rows_of_files(
    files: DataFrame, read: EventReader, time: TimeRules, plan: StagePlan
) -> DataFrame:
    """Return the same of files, whose events are read by the first stage."""
    blocks = files.mapInArrow(replace(_key_stage(plan), read=read), DDL)
    return _matched(_with_watermark(blocks, F.col("until_ms"), time), plan)


def _key_stage(plan: StagePlan) -> KeyStageTask:
    return KeyStageTask(
        plan.rules,
        KeyStageSettings(len(plan.shard_keys), plan.matching.wanted, plan.filters, plan.by_clock),
        plan.shard_keys,
    )


def _matched(blocks: DataFrame, plan: StagePlan) -> DataFrame:
    return blocks.groupBy("shard").transformWithStateInPandas(
        ShardProcessor(plan.rules, plan.matching),
        outputStructType=STAGE_DDL,
        outputMode="Append",
        timeMode="EventTime",
    )


def _with_watermark(rows: DataFrame, time_ms: Column, time: TimeRules) -> DataFrame:
    with_time = rows.withColumn(_EVENT_TIME, F.timestamp_millis(time_ms))
    delay = f"{time.watermark_delay_ms} milliseconds"
    return with_time.withWatermark(_EVENT_TIME, delay).drop(_EVENT_TIME)


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


def _time_ms(events: DataFrame, time: TimeRules) -> Column:
    if time.column is None:
        return F.unix_millis(F.current_timestamp())
    column = F.col(time.column)
    match events.schema[time.column].dataType:
        case LongType():
            return column
        case TimestampNTZType():
            epoch = F.lit("1970-01-01").cast("timestamp_ntz")
            return F.timestamp_diff("MILLISECOND", epoch, column)
        case _:
            return F.unix_millis(column)

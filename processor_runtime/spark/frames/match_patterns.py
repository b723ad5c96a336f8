"""Patterns over any DataFrame, streaming or static, without a job: `CEP.pattern()` for Spark.

    DataFrame + patterns ──match_patterns──► matches, timed-out partial matches, late events

Source: FLIP-200, "CEP.pattern() keeps working"; Flink CEP, `CEP.pattern(input, pattern)`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as all of Spark's documentation has it

from cep.events.order import EventTime
from cep.expression import Schema
from cep.nfa.limits import Limits
from cep.pattern import Pattern
from cep.pattern.problems import did_you_mean
from contract.snapshot import StreamDefinition
from processor_runtime.rows.output_rows import OutputRow
from processor_runtime.schedule.interval import END_MS
from processor_runtime.sources.event_frames import EventFrames
from processor_runtime.sources.row_events import RowEvents
from processor_runtime.spark.frames.fixed_rules import FixedRules
from processor_runtime.spark.plan.block_rows import DDL, Received
from processor_runtime.spark.plan.frames import (
    PlannedSource,
    StagePlan,
    TimeRules,
    output_rows,
    spread_shard_keys,
)
from processor_runtime.spark.plan.stages import STAGE_DDL, KeyStageTask, rows_as_pandas
from processor_runtime.spark.session import use_this_python
from processor_runtime.spark.sources.columns import arrow_schema
from processor_runtime.stages.key_stage import KeyStageSettings
from processor_runtime.stages.shard_matcher import MatchSettings, ShardMatcher
from processor_runtime.state.memory import StateInMemory

_FOUND: Final = ("pattern", "key", "match_id", "start_ms", "end_ms", "output", "events")


@dataclass(frozen=True, slots=True)
class PatternMatches:
    """What patterns find in a frame; frames like it: streaming if it is, else static.

    `matches` and `timed_out` have the columns `pattern`, `key` (JSON array), `match_id`,
    `start_ms`, `end_ms` (event time, milliseconds since 1970), `output` (JSON of `select`, else
    NULL) and `events` (JSON object: the events by step). `late` has `start_ms` and `events`, one
    event each. Each streaming frame that is started is a query with a state of its own.
    """

    matches: DataFrame
    timed_out: DataFrame
    late: DataFrame


def match_patterns(  # noqa: PLR0913 - independent options, by name
    frame: DataFrame,
    patterns: Pattern | Mapping[str, Pattern],
    *,
    event_time: str,
    key_by: str | Sequence[str] | None = None,
    select: Mapping[str, str] | Mapping[str, Mapping[str, str]] | None = None,
    delay_ms: int = 0,
    order_by: str | Sequence[str] = (),
    final_watermark_ms: int | None = None,
    limits: Limits | None = None,
) -> PatternMatches:
    """Return what patterns find in a streaming or static DataFrame.

    Args:
        frame: the events.
        patterns: a pattern, or patterns by name.
        event_time: column with the event time: TIMESTAMP, TIMESTAMP_NTZ (taken as UTC), or BIGINT
            milliseconds.
        key_by: column or SQL expression of the key, or several; matches never mix keys. `None` =
            one key for all.
        select: output columns, expressions over the match; with several patterns by pattern name.
        delay_ms: how late an event of a stream may come.
        order_by: column that orders events of equal time, or several.
        final_watermark_ms: static frames only: how far time goes on after the last event, which
            closes windows; by default all are closed.
        limits: what each pattern may hold for one key.

    Raises:
        PatternError, ExpressionError: a pattern, a key or an output column does not fit the frame.
        ValueError: it has no such column.
    """
    order_by = (order_by,) if isinstance(order_by, str) else tuple(order_by)
    for column in (event_time, *order_by):
        if column not in frame.columns:
            raise ValueError(
                f"the frame has no column '{column}'. {did_you_mean(column, frame.columns)}"
            )
    ddl = frame_ddl(frame)
    order = list(EventTime(event_time, order_by).order(Schema.from_ddl(ddl)))
    named = {"pattern": patterns} if isinstance(patterns, Pattern) else dict(patterns)
    rules = FixedRules(
        named,
        StreamDefinition(
            name="frame",
            version=1,
            schema=ddl,
            event_time_column=event_time,
            allowed_delay_ms=delay_ms,
            order_by=order,
        ),
        (key_by,) if isinstance(key_by, str) else tuple(key_by or ()),
        _select_by_name(select, named),
        limits or Limits(),
    ).with_token()
    _ = replace(rules).rule_set  # what does not fit is reported here, not by a task
    use_this_python(frame.sparkSession)
    if frame.isStreaming:
        found = _streaming(frame, rules, frozenset({"match", "timeout"}), filters=True)
        late = _streaming(frame, rules, frozenset({"late"}), filters=False)
    else:
        found = _static(frame, rules, final_watermark_ms)
        late = found.limit(0)
    return PatternMatches(
        matches=_found(found, "match"),
        timed_out=_found(found, "timeout"),
        late=late.where(F.col("kind") == "late").select("start_ms", "events"),
    )


def _reader(frame: DataFrame, rules: FixedRules) -> RowEvents:
    columns = arrow_schema(frame.schema)
    return RowEvents(EventFrames.of_schema(columns, rules.stream.event_time_column))


def _streaming(
    frame: DataFrame, rules: FixedRules, wanted: frozenset[str], *, filters: bool
) -> DataFrame:
    spark = frame.sparkSession
    shards = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    keys = spread_shard_keys(spark, shards)
    time = TimeRules(rules.stream.event_time_column, rules.stream.allowed_delay_ms)
    plan = StagePlan(rules, keys, MatchSettings(wanted, fails_on_error=True), filters)
    return output_rows([PlannedSource(frame, _reader(frame, rules))], time.watermark_delay_ms, plan)


def _static(frame: DataFrame, rules: FixedRules, final_watermark_ms: int | None) -> DataFrame:
    shards = frame.sparkSession.sparkContext.defaultParallelism
    wanted = frozenset({"match", "timeout"})
    read, settings = _reader(frame, rules), KeyStageSettings(shards, wanted)
    task = KeyStageTask(read, rules, settings, tuple(range(shards)))
    final_ms = END_MS if final_watermark_ms is None else final_watermark_ms

    def shard_rows(key: tuple[Any, ...], blocks: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        received = Received(
            row for frame in blocks for row in frame.itertuples(index=False, name=None)
        )
        yield from map(rows_as_pandas, _shard_rows(int(key[0]), received, rules, final_ms))

    return frame.mapInArrow(task, DDL).groupBy("shard").applyInPandas(shard_rows, STAGE_DDL)


def _shard_rows(
    shard: int, received: Received, rules: FixedRules, final_watermark_ms: int
) -> Iterator[Sequence[OutputRow]]:
    """Match all events of a shard: first they wait, then time comes to the end."""
    state = StateInMemory()
    settings = MatchSettings(frozenset({"match", "timeout"}), fails_on_error=True)
    clock, rule_set = rules.current()
    yield from ShardMatcher(shard, rule_set, state, clock, settings).match(received.blocks)
    newest_ms = max((block.until_ms for block in received.blocks), default=final_watermark_ms)
    at_the_end = replace(clock, watermark_ms=max(newest_ms, final_watermark_ms))
    yield from ShardMatcher(shard, rule_set, state, at_the_end, settings).match(())


def _found(rows: DataFrame, kind: str) -> DataFrame:
    named = rows.where(F.col("kind") == kind).withColumnRenamed("processor_id", "pattern")
    return named.select(*_FOUND)


def frame_ddl(frame: DataFrame) -> str:
    """Return the columns of a frame and their types as DDL."""
    return ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in frame.schema)


def _select_by_name(select: Any, patterns: Iterable[str]) -> dict[str, Mapping[str, str]]:
    if select is None:
        return {}
    if all(isinstance(columns, str) for columns in select.values()):
        return dict.fromkeys(patterns, select)
    return dict(select)

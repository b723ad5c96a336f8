"""Both stages as Spark runs them: functions over Arrow batches, and over the frames of a shard.

events ──mapInArrow(KeyStageTask)──► blocks ──ShardProcessor(ShardStageTask)──► rows of output
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pandas as pd
import pyarrow as pa
from pandas.arrays import ArrowExtensionArray
from pyspark import TaskContext

from processor_runtime.output.line_files import LineFiles
from processor_runtime.output.row_columns import LINES, RowColumns, RowLines
from processor_runtime.rows.output_rows import SCHEMA, OutputRow
from processor_runtime.rows.shard_status import EventCounts, write_status
from processor_runtime.sources.event_frames import EventReader
from processor_runtime.spark.plan.block_rows import (
    Received,
    counts_row,
    event_row,
    output_row,
    question_row,
    record_batch,
)
from processor_runtime.spark.plan.shard_processor import ShardState
from processor_runtime.spark.plan.spark_state import SparkState
from processor_runtime.spark.plan.worker_rules import RuleSource
from processor_runtime.stages.asked_keys import questions
from processor_runtime.stages.key_stage import KeyStage, KeyStageSettings
from processor_runtime.stages.shard_matcher import MatchSettings, ShardMatcher

STATUS: Final = "status"
"""Kind of the row with which each shard ends a batch; its `output` is a `ShardStatus`.

Its lines, if it has any, are matches that no other row is about; see `InlineLines`.
"""
OUTPUT_DDL: Final = (
    "kind STRING, tag STRING, processor_id STRING, version INT, epoch BIGINT, key STRING, "
    "match_id STRING, start_ms BIGINT, end_ms BIGINT, output STRING, events STRING, error STRING"
)
STAGE_DDL: Final = f"{OUTPUT_DDL}, {LINES} BINARY"
"""What the second stage gives: rows, or a kind and the lines of thousands of rows of that kind."""
_POSITIONS_PER_PARTITION: Final = 1 << 40
_POSITIONS_PER_SOURCE: Final = 1 << 58


@dataclass(slots=True)
class InlineLines:
    """The lines of one shard and batch, which go with its status while they are few.

    The driver writes these itself: to write rows Spark plans and runs a job of its own, which takes
    a fifth of a second, and a small batch has little more to do.

    `most_bytes`: how many bytes of them may go with the status; 0 if none may.
    """

    most_bytes: int
    _held: list[RowLines] = field(default_factory=list)

    def send(self, rows: Sequence[OutputRow]) -> Iterator[Sequence[OutputRow]]:
        """Yield what goes out now; the rest is kept."""
        if not self.most_bytes or not isinstance(rows, RowLines):
            yield rows
            return
        self._held.append(rows)
        if sum(each.size_bytes for each in self._held) > self.most_bytes:
            self.most_bytes = 0
            yield from self._held
            self._held = []

    def rest(self) -> bytes | None:
        """Return the lines that have been kept, without the end of the last; `None` if none are."""
        return b"\n".join(each.text for each in self._held) if self._held else None


@dataclass(frozen=True, slots=True)
class KeyStageTask:
    """The first stage on one partition; called by `mapInArrow`.

    `read` gives the events. `shard_keys` are the values Spark groups by, one per shard. `number` is
    that of the source in its query, and `source` its name, if it is one of several.
    """

    read: EventReader
    rules: RuleSource
    settings: KeyStageSettings
    shard_keys: tuple[int, ...]
    number: int = 0
    source: str = ""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield blocks and rows of output, then counts, as `block_rows.SCHEMA`."""
        stage: KeyStage | None = None
        context = TaskContext.get()
        partition = 0 if context is None else context.partitionId()
        # Spark may read a partition of each source in one task.
        position = self.number * _POSITIONS_PER_SOURCE + partition * _POSITIONS_PER_PARTITION
        own_shard = self.shard_keys[partition % len(self.shard_keys)]
        for events in self.read(batches, self._now_ms):
            if stage is None:
                clock, rules = self.rules.current()
                stage = KeyStage(rules, self.settings, clock, source=self.source)
            rows = [
                event_row(self.shard_keys[shard], block)
                for shard, block in stage.blocks(events, position)
            ]
            rows += [output_row(own_shard, chunk) for chunk in stage.rows.rest()]
            position += len(events)
            if rows:
                yield record_batch(rows)
        if stage is not None:
            # A count calls a shard, which has to know how far time goes on in this batch.
            called = self.shard_keys if stage.calls_every_shard else ()
            read = EventCounts(newest_ms=stage.counts.newest_ms, by_source=stage.counts.by_source)
            counts = [counts_row(each, read) for each in called if each != own_shard]
            asked = [
                question_row(self.shard_keys[shard], question)
                for shard, question in questions(
                    stage.rules, self.rules.asked(), self.settings.shards
                )
            ]
            # By the clock time goes on with each tick, without an event.
            goes_on = stage.has_tick and self.settings.by_clock
            until_ms = stage.clock.processing_time_ms if goes_on else None
            yield record_batch([counts_row(own_shard, stage.counts, until_ms), *counts, *asked])

    def _now_ms(self) -> int:
        clock, _ = self.rules.current()
        return clock.processing_time_ms


@dataclass(frozen=True, slots=True)
class ShardStageTask:
    """The second stage on one shard; called by `ShardProcessor`."""

    rules: RuleSource
    settings: MatchSettings

    def __call__(
        self, shard: int, frames: Iterable[pd.DataFrame], state: ShardState, watermark_ms: int
    ) -> Iterator[pd.DataFrame]:
        """Yield rows as they are found, some thousand at a time, and at last the status.

        `frames`: the blocks that arrived for the shard, if any. `watermark_ms`: as Spark tells it.
        """
        received = Received(
            row for frame in frames for row in frame.itertuples(index=False, name=None)
        )
        clock, rules = self.rules.current(watermark_ms)
        clock = clock.having_read(received.counts.newest_ms, received.counts.by_source)
        in_hand = InlineLines(self.settings.lines.most_bytes_in_hand)
        matcher = ShardMatcher(shard, rules, SparkState(state.values), clock, self.settings)
        yield from self._found(matcher, received, in_hand)
        wake_ms = matcher.next_wake_ms if clock.goes_on_alone else None
        state.wake_at(wake_ms, clock.watermark_ms)
        status: Any = STATUS
        told = rows_as_pandas([OutputRow(kind=status, output=write_status(matcher.status))])
        told[LINES] = [in_hand.rest()]
        yield told

    def _found(
        self, matcher: ShardMatcher, received: Received, in_hand: InlineLines
    ) -> Iterator[pd.DataFrame]:
        files = LineFiles(self.settings.lines.directory)
        for rows in received.output_rows():
            matcher.rows.add(rows)
            yield from map(rows_as_pandas, matcher.rows.full())
        for found in matcher.match(received.blocks, received.questions):
            for unwritten in files.send(found):
                yield from map(rows_as_pandas, in_hand.send(unwritten))
        matcher.status.line_files = dict(files.close())
        matcher.status.counts.add(received.counts)


def rows_as_pandas(rows: Sequence[OutputRow]) -> pd.DataFrame:
    """Return rows of output; those in columns as they are, for Spark then copies nothing.

    All others have the type object, for integers that may be missing.
    """
    if isinstance(rows, RowColumns | RowLines):
        batch = rows.batch
        columns = zip(batch.schema.names, batch.columns, strict=True)
        return pd.DataFrame({name: ArrowExtensionArray(column) for name, column in columns})
    frame = pd.DataFrame(rows, columns=list(SCHEMA), dtype=object)
    frame[LINES] = None
    return frame

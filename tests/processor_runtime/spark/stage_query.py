"""Both stages on Spark as a job runs them, over micro-batches and rules that the test decides on.

    batches of events ──► files, one a batch ──► stages ──foreachBatch──► rows, batch by batch
    snapshots ──────────────────────────────────────┘

What a job makes of a job file (discoverer, source, outputs) is left out.
"""

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as all of Spark's documentation has it

from contract.snapshot import Snapshot, StreamDefinition
from processor_runtime.driver.job_progress import JobProgress
from processor_runtime.driver.pinning import BatchPins
from processor_runtime.job_file.source import Source
from processor_runtime.job_file.timing import Trigger
from processor_runtime.rows.line_route import BatchLines
from processor_runtime.rows.output_rows import SCHEMA, OutputRow
from processor_runtime.rules.loading import RuleDefaults
from processor_runtime.spark.checkpoint_files import CheckpointFiles
from processor_runtime.spark.job_query import JobQuery, StreamWatch
from processor_runtime.spark.micro_batches import MicroBatches
from processor_runtime.spark.plan.frames import (
    PlannedSource,
    StagePlan,
    TimeRules,
    output_rows,
    spread_shard_keys,
)
from processor_runtime.spark.plan.stages import STATUS
from processor_runtime.spark.plan.worker_rules import PinnedRules
from processor_runtime.spark.shipped_files import ShippedFiles
from processor_runtime.spark.sources import EventsWanted, read_source

Event = Mapping[str, Any]
_DEFAULTS: Final = RuleDefaults()


@dataclass(slots=True)
class Collected:
    """An output that keeps the rows of every batch that has some, by its number."""

    batches: dict[int, list[OutputRow]] = field(default_factory=dict)

    def write(self, rows: DataFrame, batch_id: int, row_counts: Any, lines: BatchLines) -> None:
        """Take the rows of a batch."""
        assert not lines
        if row_counts.total():
            found = rows.where(F.col("kind") != STATUS).select(*SCHEMA).collect()
            self.batches[batch_id] = [OutputRow(*row) for row in found]

    @property
    def rows(self) -> list[OutputRow]:
        return [row for batch_id in sorted(self.batches) for row in self.batches[batch_id]]


@dataclass(frozen=True, slots=True)
class StageQuery:
    """A query over the events of a stream, each batch a file."""

    spark: SparkSession
    folder: Path
    stream: StreamDefinition
    shards: int = 2
    filters: bool = True

    def run(
        self, batches: Iterable[Sequence[Event]], rules_of: Callable[[int], Snapshot]
    ) -> dict[int, list[OutputRow]]:
        """Run these batches, and those without events that let time pass; return their rows."""
        self._write(batches)
        outputs = Collected()
        checkpoint = str(self.folder / "checkpoint")
        time = TimeRules(self.stream.event_time_column, self.stream.allowed_delay_ms)
        files = CheckpointFiles(self.spark, checkpoint)
        shipped = self.folder / "shipped"
        shipped.mkdir()
        done: list[int | None] = []
        watch = StreamWatch(lambda: rules_of(len(done)), self.stream)
        micro_batches = MicroBatches(
            spark=self.spark,
            files=files,
            shipped=ShippedFiles(self.spark, shipped),
            pins=BatchPins(files, _DEFAULTS, self.stream, time.watermark_delay_ms),
            latest=watch.latest,
            outputs=outputs,
            progress=JobProgress(self.shards),
            on_batch=lambda batch: done.append(batch.status.batch_id),
        )
        self.spark.conf.set("spark.sql.shuffle.partitions", str(self.shards))
        JobQuery(
            rows=self._rows(time),
            batches=micro_batches,
            watch=watch,
            name="stages",
            checkpoint=checkpoint,
            trigger=Trigger(available_now=True),
        ).run()
        return outputs.batches

    def _write(self, batches: Iterable[Sequence[Event]]) -> None:
        (self.folder / "in").mkdir()
        for number, events in enumerate(batches):
            path = self.folder / "in" / f"{number}.json"
            path.write_text("".join(f"{json.dumps(event)}\n" for event in events), encoding="utf-8")
            os.utime(path, (number, number))  # Spark reads files in order of their age

    def _rows(self, time: TimeRules) -> DataFrame:
        source = Source.model_validate(
            {"format": "json", "path": str(self.folder / "in"), "max_files_per_batch": 1}
        )
        plan = StagePlan(
            rules=PinnedRules(_DEFAULTS),
            shard_keys=spread_shard_keys(self.spark, self.shards),
            filters=self.filters,
        )
        events = read_source(self.spark, source, self.stream, EventsWanted(time.column))
        return output_rows(
            [PlannedSource(events.frame, events.read)], time.watermark_delay_ms, plan
        )

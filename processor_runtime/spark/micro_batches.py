"""Runs one micro-batch after the other: pins its epoch, evaluates it once, writes what came out.

    foreachBatch(frame, id) ──► pin ──► workers ──► status rows ──► outputs ──► progress

Called by Spark before any task of the batch has run, so that the pin is there first.
"""

import logging
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException, PythonException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as all of Spark's documentation has it

from contract.snapshot import Snapshot
from processor_runtime.driver.culprit_search import CulpritSearch
from processor_runtime.driver.job_progress import JobProgress
from processor_runtime.driver.job_status import JobStatus
from processor_runtime.driver.offset_log import planned_batch
from processor_runtime.driver.pinning import BatchPins, Pin, failed_versions
from processor_runtime.rows.output_rows import OutputRow
from processor_runtime.schedule.timeline import Timeline
from processor_runtime.spark.checkpoint_files import CheckpointFiles
from processor_runtime.spark.plan.stages import STATUS
from processor_runtime.spark.plan.worker_rules import PROPERTY, PinnedBatch
from processor_runtime.spark.shipped_files import ShippedFiles
from processor_runtime.spark.sources import unread_file
from processor_runtime.spark.sources.backlog import unread_events
from processor_runtime.spark.worker_deaths import BatchUndone, death_in
from processor_runtime.stages.rule_errors import RuleFailed
from processor_runtime.stages.shard_status import ShardStatus, read_status
from processor_runtime.watch.worker_limits import WorkerLimits

_log = logging.getLogger("percept.job")


class Outputs(Protocol):
    """Where rows go; see `sinks.JobOutputs`."""

    def write(self, rows: DataFrame, batch_id: int, row_counts: Any) -> None:
        """Write a batch to every output that wants some of it."""


@dataclass(frozen=True, slots=True)
class BatchDone:
    """A batch that has been written: how the job fares, and the timelines before and now."""

    status: JobStatus
    before: Timeline
    now: Timeline


@dataclass(slots=True)
class MicroBatches:
    """The function that Spark calls with each micro-batch of a job.

    Args:
        spark: the session.
        files: the checkpoint.
        shipped: what workers are sent.
        pins: what batches run with.
        latest: gives the newest snapshot; `None` keeps what ran last.
        outputs: where rows go.
        progress: what is added up.
        on_batch: told of each batch when it is done.
        on_begin: told when a batch begins.
        check: looks at what a batch is to read, and returns rows of output about it.
        search: who makes workers die, if they do.
        limits: what code of processors may take.
        fails_on_error: whether a processor that cannot run ends the job.
        has_ticks: whether the query has a source of ticks.
    """

    spark: SparkSession
    files: CheckpointFiles
    shipped: ShippedFiles
    pins: BatchPins
    latest: Callable[[], Snapshot | None]
    outputs: Outputs
    progress: JobProgress
    on_batch: Callable[[BatchDone], None]
    on_begin: Callable[[], None] = lambda: None
    check: Callable[[int], list[OutputRow]] = lambda _batch_id: []
    search: CulpritSearch = field(default_factory=CulpritSearch)
    limits: WorkerLimits = field(default_factory=WorkerLimits)
    fails_on_error: bool = False
    has_ticks: bool = False

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """Run a batch.

        Raises:
            OutputFailed: an output could not be written; the batch will be run again.
            RuleFailed: a processor failed, and the job is set to fail then.
            SourceError: a file of the batch cannot be read as it is meant.
            BatchUndone: a worker died, or the batch was a trial; it is to be run again.
        """
        began = time.monotonic()
        self.on_begin()
        before = self.pins.timeline
        # Before anything is pinned: the stream can be changed if it is what does not fit.
        told = self.check(batch_id)
        pin = self._pin(batch_id)
        if self.fails_on_error and (failures := _failures(pin.timeline)):
            raise RuleFailed(failures)
        self._announce(pin)
        frame.persist()
        try:
            statuses = self._evaluated(frame, batch_id)
            row_counts = Counter[str](row.kind for row in told)
            for status in statuses:
                row_counts.update(status.row_kinds)
            self.outputs.write(self._with(told, frame), batch_id, row_counts)
        finally:
            frame.unpersist()
        self.progress.add_unfit(len(told))
        duration_ms = round((time.monotonic() - began) * 1_000)
        job_status = self.progress.add(
            pin.record, pin.timeline, statuses, duration_ms, self._backlog()
        )
        job_status = replace(job_status, silent_since_ms=pin.silent_since_ms)
        self._learn(pin, statuses)
        self.on_batch(BatchDone(job_status, before, pin.timeline))

    def _evaluated(self, frame: DataFrame, batch_id: int) -> list[ShardStatus]:
        try:
            statuses = _statuses(frame)
        except (PySparkException, Py4JJavaError) as error:
            death = death_in(str(error), self.limits.call_seconds)
            if death is None:
                raise unread_file(error) or error from error
            raise BatchUndone(batch_id, death, error) from error
        if self.search.left_out is not None:
            raise BatchUndone(batch_id)
        return statuses

    def _with(self, told: list[OutputRow], frame: DataFrame) -> DataFrame:
        """Return the rows of a batch, and those about what it was to read."""
        if not told:
            return frame
        return frame.unionByName(self.spark.createDataFrame(told, frame.schema))

    def _pin(self, batch_id: int) -> Pin:
        newest = self.latest() or self.pins.snapshot
        if newest is None:
            raise AssertionError("a job starts with a first snapshot")
        start = planned_batch(self.files, batch_id, has_ticks=self.has_ticks)
        return self.pins.pin(start, newest, self.search.left_out or ())

    def _announce(self, pin: Pin) -> None:
        """Let the tasks of the batch know their time and rules."""
        name = f"percept-{Path(pin.record.timeline).name}"
        self.shipped.ship(name, pin.document)
        batch = PinnedBatch(pin.clock, name)
        self.spark.sparkContext.setLocalProperty(PROPERTY, batch.to_property())

    def _backlog(self) -> int | None:
        """Return what the source held unread when the batch before this one was planned."""
        queries = self.spark.streams.active
        progress = next((query.lastProgress for query in queries if query.lastProgress), None)
        return None if progress is None else unread_events(progress["sources"])

    def _learn(self, pin: Pin, statuses: list[ShardStatus]) -> None:
        self.pins.learn(
            self.progress.newest_ms,
            failed_versions(pin.timeline, statuses),
            self.progress.idle_rules(pin.timeline),
        )


def _statuses(frame: DataFrame) -> list[ShardStatus]:
    """Evaluate the batch and return what each shard tells."""
    try:
        rows = frame.where(F.col("kind") == STATUS).select("output").collect()
    except PythonException as error:
        if told := re.search(r"RuleFailed: (.*)", str(error)):
            raise RuleFailed(told.group(1)) from None
        raise
    return [read_status(row.output) for row in rows]


def _failures(timeline: Timeline) -> str:
    return "; ".join(
        f"processor {item.processor_id}, version {item.version}: {item.reason}"
        for item in timeline.quarantined
        if not item.by_hand
    )

"""Runs one micro-batch after the other: pins its epoch, evaluates it once, writes what came out.

    foreachBatch(frame, id) ──► pin ──► workers ──► status rows ──► outputs ──► progress

Called by Spark before any task of the batch has run, so that the pin is there first.
"""

import logging
import re
from collections import ChainMap, Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException, PythonException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as all of Spark's documentation has it

from contract.asked_keys import AskedKey
from contract.snapshot import Snapshot
from processor_runtime.alerting.alert_decisions import AlertRules, AlertState, BatchEnd
from processor_runtime.alerting.alert_decisions import alerted as decide
from processor_runtime.alerting.budgets import throttled_until
from processor_runtime.alerting.groups import MOST_GROUPS
from processor_runtime.alerting.suppression import MOST_VALUES
from processor_runtime.driver.alert_state import AlertStates
from processor_runtime.driver.batch_times import BatchTimes
from processor_runtime.driver.checked_files import Files
from processor_runtime.driver.culprit_search import CulpritSearch
from processor_runtime.driver.job_progress import JobProgress
from processor_runtime.driver.job_status import JobStatus
from processor_runtime.driver.offset_log import planned_batch
from processor_runtime.driver.pinning import BatchPins, Pin, failed_versions
from processor_runtime.output.row_columns import LINES
from processor_runtime.rows.line_route import BatchLines
from processor_runtime.rows.output_rows import OutputRow
from processor_runtime.rows.shard_status import ShardStatus, read_status
from processor_runtime.rules.alerts import budgets_of, groupings_of
from processor_runtime.schedule.timeline import Timeline
from processor_runtime.spark.batch_frame import BatchFrame
from processor_runtime.spark.failed_events import failed_events
from processor_runtime.spark.plan.stages import STATUS
from processor_runtime.spark.plan.worker_rules import PROPERTY, PinnedBatch, shipped_name
from processor_runtime.spark.shipped_files import ShippedFiles
from processor_runtime.spark.sources import unread_file
from processor_runtime.spark.sources.backlog import unread_events
from processor_runtime.spark.worker_deaths import BatchUndone, death_in
from processor_runtime.stages.rule_errors import RuleFailed
from processor_runtime.watch.worker_limits import WorkerLimits

_log = logging.getLogger("percept.job")


class Outputs(Protocol):
    """Where rows go; see `sinks.JobOutputs`."""

    def write(self, rows: DataFrame, batch_id: int, row_counts: Any, lines: BatchLines) -> None:
        """Write a batch to every output that wants some of it."""


@dataclass(frozen=True, slots=True)
class BatchDone:
    """A batch that has been written: how the job fares, the timelines before and now, its times."""

    status: JobStatus
    before: Timeline
    now: Timeline
    times: BatchTimes


@dataclass(slots=True)
class MicroBatches:
    """The function that Spark calls with each micro-batch of a job.

    `latest`: gives the newest snapshot; `None` keeps what ran last. `on_batch`: called with each
    batch when it is done. `on_begin`: called when a batch begins. `on_failure`: called with each
    batch that has ended early, and why. `check`: looks at what a batch is to read, and returns rows
    of output about it. `search`: who makes workers die, if they do. `fails_on_error`: whether a
    processor that cannot run ends the job. `has_ticks`: whether the query has a source of ticks.
    `tells_events`: whether the status of the job has the events at which rules fail.
    """

    spark: SparkSession
    files: Files
    shipped: ShippedFiles
    pins: BatchPins
    latest: Callable[[], Snapshot | None]
    outputs: Outputs
    progress: JobProgress
    on_batch: Callable[[BatchDone], None]
    on_begin: Callable[[], None] = lambda: None
    on_failure: Callable[[BatchTimes, BaseException], None] = lambda _times, _error: None
    check: Callable[[int], list[OutputRow]] = lambda _batch_id: []
    search: CulpritSearch = field(default_factory=CulpritSearch)
    limits: WorkerLimits = field(default_factory=WorkerLimits)
    fails_on_error: bool = False
    has_ticks: bool = False
    asked: Callable[[], Sequence[AskedKey]] = tuple
    tells_events: bool = False
    alerts: AlertStates = field(init=False)
    _told: tuple[Timeline, AlertRules] | None = field(default=None, init=False)
    _unsuppressed: set[str] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        self.alerts = AlertStates(self.files)

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """Run a batch.

        Raises:
            OutputFailed: an output could not be written; the batch will be run again.
            RuleFailed: a processor failed, and the job is set to fail then.
            SourceError: a file of the batch cannot be read as it is meant.
            BatchUndone: a worker died, or the batch was a trial; it is to be run again.
        """
        times = BatchTimes(batch_id)
        try:
            done = self._done(frame, times)
        except BaseException as error:
            self.on_failure(times, error)
            raise
        self.on_batch(done)

    def _done(self, frame: DataFrame, times: BatchTimes) -> BatchDone:
        self.on_begin()
        before = self.pins.timeline
        with times.part("check source"):
            # Before anything is pinned: the stream can be changed if it is what does not fit.
            told = self.check(times.batch_id)
        with times.part("pin rules"):
            pin = self._pin(times.batch_id)
            if self.fails_on_error and (failures := _failures(pin.timeline)):
                raise RuleFailed(failures)
            self._announce(pin)
        frame.persist()
        try:
            statuses, alerts = self._written(frame, pin, told, times)
        finally:
            frame.unpersist()
        self.progress.add_unfit(len(told))
        self.progress.throttled_until_ms = throttled_until(alerts.spent)
        job_status = self.progress.add(pin, statuses, times.duration_ms, self._backlog())
        job_status = replace(job_status, silent_since_ms=pin.silent_since_ms)
        self._learn(pin, statuses)
        return BatchDone(job_status, before, pin.timeline, times)

    def _written(
        self, frame: DataFrame, pin: Pin, told: list[OutputRow], times: BatchTimes
    ) -> tuple[list[ShardStatus], AlertState]:
        """Evaluate a batch that is pinned, and write what came out."""
        with times.part("read and match"):
            statuses, lines = self._evaluated(frame, times.batch_id)
        row_counts = Counter[str](row.kind for row in told)
        for status in statuses:
            row_counts.update(status.row_kinds)
        rows = BatchFrame(frame)
        with times.part("decide alerts"):
            alerts = self._alerted(pin, statuses, rows, row_counts)
        rows.add(told)
        with times.part("write outputs"):
            self.outputs.write(rows.frame, times.batch_id, row_counts, lines)
        if self.tells_events:
            self._keep_failed_events(frame, pin.timeline, statuses)
        return statuses, alerts

    def _keep_failed_events(
        self, frame: DataFrame, timeline: Timeline, statuses: list[ShardStatus]
    ) -> None:
        """Keep where versions failed as long as they are quarantined."""
        known = self.progress.failed_at
        quarantined = {(item.processor_id, item.version) for item in timeline.quarantined}
        self.progress.failed_at = {
            **{version: known[version] for version in quarantined & known.keys()},
            **failed_events(frame, failed_versions(timeline, statuses)),
        }

    def _evaluated(self, frame: DataFrame, batch_id: int) -> tuple[list[ShardStatus], BatchLines]:
        try:
            collected = _collected(frame)
        except (PySparkException, Py4JJavaError) as error:
            death = death_in(str(error), self.limits.call_seconds)
            if death is None:
                raise unread_file(error) or error from error
            raise BatchUndone(batch_id, death, error) from error
        if self.search.left_out is not None:
            raise BatchUndone(batch_id)
        return collected

    def _alerted(
        self, pin: Pin, statuses: list[ShardStatus], rows: BatchFrame, row_counts: Counter[str]
    ) -> AlertState:
        """Let rows be as they go out, and keep what is known of budgets and groups."""
        record = pin.record
        before = self.alerts.before(record.batch_id)
        complete_ms = pin.clock_after(statuses).complete_ms
        end = BatchEnd(record.epoch, complete_ms, record.closes)
        rules = self._alert_rules(pin.timeline)
        alerted = decide(rows, statuses, rules, before, end)
        row_counts.update(alerted.row_counts)
        self.alerts.keep(record.batch_id, alerted.state, rules)
        self.progress.sources_ms = self.pins.keep(pin, statuses)
        throttled = throttled_until(alerted.state.spent)
        for rule in throttled.keys() - throttled_until(before.spent).keys():
            _log.warning("rule %s is throttled: its budget is spent", rule)
        for rule in sorted(alerted.overflowing):
            _log.warning(
                "rule %s has more than %d groups at once: all others are one", rule, MOST_GROUPS
            )
        self._warn_of_unsuppressed(statuses)
        return alerted.state

    def _warn_of_unsuppressed(self, statuses: Iterable[ShardStatus]) -> None:
        """Warn of rules that begin to suppress less than they say, as too much would be kept."""
        found = {
            rule_id.rsplit("@", 2)[0]
            for status in statuses
            for rule_id, counts in status.rules.items()
            if counts.unsuppressed
        }
        for rule in sorted(found - self._unsuppressed):
            _log.warning(
                "rule %s suppresses not all: a key has more than %d different values of `by` at "
                "once, and matches with others go out",
                rule,
                MOST_VALUES,
            )
        self._unsuppressed = found

    def _alert_rules(self, timeline: Timeline) -> AlertRules:
        """Return how matches are reported; a timeline stays as long as nothing changes."""
        if self._told is None or self._told[0] is not timeline:
            intervals = timeline.intervals
            rules = AlertRules(groupings_of(intervals), budgets_of(intervals))
            self._told = timeline, rules
        return self._told[1]

    def _pin(self, batch_id: int) -> Pin:
        newest = self.latest() or self.pins.snapshot
        if newest is None:
            raise AssertionError("a job starts with a first snapshot")
        start = planned_batch(self.files, batch_id, has_ticks=self.has_ticks)
        return self.pins.pin(start, newest, self.search.left_out or ())

    def _announce(self, pin: Pin) -> None:
        """Let the tasks of the batch know their time and rules."""
        name = shipped_name(pin.record.timeline)
        lists = {shipped_name(each): partial(self.pins.content, each) for each in pin.record.lists}
        self.shipped.ship({name: lambda: pin.document, **lists})
        batch = PinnedBatch(pin.clock, name, tuple(self.asked()))
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


def _collected(frame: DataFrame) -> tuple[list[ShardStatus], BatchLines]:
    """Evaluate the batch and return what each shard tells, and lines that are not in the frame."""
    try:
        rows = frame.where(F.col("kind") == STATUS).select("output", LINES).collect()
    except PythonException as error:
        if told := re.search(r"RuleFailed: (.*)", str(error)):
            raise RuleFailed(told.group(1)) from None
        raise
    statuses = [read_status(row.output) for row in rows]
    in_hand = [bytes(row[LINES]) for row in rows if row[LINES] is not None]
    files = ChainMap(*(status.line_files for status in statuses))
    return statuses, BatchLines(in_hand, files)


def _failures(timeline: Timeline) -> str:
    return "; ".join(
        f"rule {item.processor_id}, version {item.version}: {item.reason}"
        for item in timeline.quarantined
        if not item.by_hand
    )

"""The composition root of a streaming job: everything a job file names is made and joined here.

    job file ──► session, discoverer, source ──► plan ──► query ──► micro-batches ──► outputs
                                                                        └──► reports

A job ends when its source does (`available_now`), when it is stopped, when another instance takes
over, or with the first batch that cannot be written.
"""

import logging
import os
import platform
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from cep.pattern import Problem
from contract.snapshot import Snapshot, StreamDefinition
from discoverers.background import BackgroundDiscovery, NoSnapshotError
from discoverers.discoverer import DiscovererSurroundings
from discoverers.factories import create_discoverer
from processor_runtime.driver.batch_record import last_snapshot, unfinished_stream
from processor_runtime.driver.batch_times import BatchTimes
from processor_runtime.driver.checked_files import CheckedFiles, Files
from processor_runtime.driver.checkpoint_identity import CheckpointIdentity, checkpoint_identity
from processor_runtime.driver.checkpoint_owner import CheckpointOwner, take_over
from processor_runtime.driver.culprit_search import CulpritSearch
from processor_runtime.driver.job_progress import JobProgress
from processor_runtime.driver.job_status import JobStatus
from processor_runtime.driver.offset_log import fit_sources
from processor_runtime.driver.pinning import BatchPins
from processor_runtime.driver.whole_checkpoint import newest_batch, require_whole
from processor_runtime.job_file.consistency import misfits, stream_of_job
from processor_runtime.job_file.job import JobFile
from processor_runtime.job_file.source import Source
from processor_runtime.job_file.timing import Trigger
from processor_runtime.reporting import JobReporter, ReportingJob, RuleService
from processor_runtime.rows.output_rows import OutputRow
from processor_runtime.rows.row_limits import RowLimits
from processor_runtime.rules.code_trial import CodeTrial
from processor_runtime.rules.loading import RuleDefaults, row_limits
from processor_runtime.sources.event_frames import EventFrames
from processor_runtime.spark.checkpoint_files import CheckpointFiles
from processor_runtime.spark.checkpoint_writer import write_directly
from processor_runtime.spark.job_query import JobQuery, StreamWatch
from processor_runtime.spark.line_routes import line_route, makes_lines
from processor_runtime.spark.micro_batches import BatchDone, MicroBatches
from processor_runtime.spark.plan.frames import (
    PlannedSource,
    StagePlan,
    TimeRules,
    output_rows,
    spread_shard_keys,
    ticks,
)
from processor_runtime.spark.plan.worker_rules import PinnedRules
from processor_runtime.spark.session import ship_packages
from processor_runtime.spark.shipped_files import ShippedFiles
from processor_runtime.spark.sinks import JobOutputs, SinkSurroundings, create_sinks
from processor_runtime.spark.sources import (
    EventsWanted,
    SourceError,
    SourceEvents,
    read_source,
    stream_frames,
)
from processor_runtime.spark.undone_batches import plan_retry, plan_start
from processor_runtime.spark.worker_deaths import BatchUndone, WorkerBeganLate
from processor_runtime.stages.shard_matcher import MatchSettings

_log = logging.getLogger("percept.job")


class StreamMismatch(ValueError):
    """The job file does not fit the stream as it is defined now; says what, and how to fix it."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))


@dataclass(frozen=True, slots=True)
class _Parts:
    """What lasts for a run of the job, from one query to the next."""

    files: CheckedFiles[CheckpointFiles]
    shipped: ShippedFiles
    identity: CheckpointIdentity
    owner: CheckpointOwner
    defaults: RuleDefaults
    discovery: BackgroundDiscovery
    outputs: JobOutputs
    progress: JobProgress
    search: CulpritSearch
    reporter: JobReporter | None


@dataclass(slots=True)
class StreamingJob:
    """One run of a job.

    `on_batch`: called with each batch when it is done, from the thread that runs batches.
    `on_failure`: called with each batch that has ended early, and why, from that thread.
    """

    spark: SparkSession
    job_file: JobFile
    environment: Mapping[str, str]
    on_batch: Callable[[BatchDone], None] = lambda _done: None
    on_failure: Callable[[BatchTimes, BaseException], None] = lambda _times, _error: None
    _processors: BackgroundDiscovery | None = None
    _query: JobQuery | None = None
    _is_stopping: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Run until the source ends or the job is stopped.

        Raises:
            NoSnapshotError: there are no processors, neither from the source of them nor in the
                checkpoint.
            CheckpointDamaged: a part of the checkpoint is missing, or not as it was written.
            CheckpointMismatch: the checkpoint is of another job.
            CheckpointTaken: another start of a job has taken it over.
            StreamMismatch, SourceError, OutputFailed: a source or an output cannot be used.
            RuleFailed: a processor failed and the job is set to fail then.
        """
        with ExitStack() as stack:
            parts = self._parts(stack)
            newest = self._first_snapshot(parts.discovery)
            if newest is None:
                return
            self._run_queries(parts, newest, closes=False)
            if self.job_file.trigger.close_at_end and not self.is_stopping:
                self._run_queries(parts, parts.discovery.latest() or newest, closes=True)

    @property
    def is_stopping(self) -> bool:
        """Whether `stop` has been called."""
        return self._is_stopping.is_set()

    def stop(self) -> None:
        """End the job once the batch that is under way is done, from any thread."""
        self._is_stopping.set()
        if self._processors is not None:
            self._processors.stop_waiting()
        if self._query is not None:
            self._query.end()

    def _first_snapshot(self, discovery: BackgroundDiscovery) -> Snapshot | None:
        """Wait for processors; return `None` if the job is stopped meanwhile."""
        self._processors = discovery
        if self.is_stopping:
            return None
        try:
            return discovery.first(self.job_file.first_snapshot_timeout_ms / 1_000)
        except NoSnapshotError:
            if self.is_stopping:
                return None
            raise

    def _parts(self, stack: ExitStack) -> _Parts:
        job_file = self.job_file
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="percept-")))
        ship_packages(self.spark, directory)
        files = CheckedFiles(CheckpointFiles(self.spark, job_file.checkpoint))
        identity = checkpoint_identity(
            files,
            job_file.stream,
            job_file.shards,
            self.spark.sparkContext.defaultParallelism,
            job_file.source_names,
        )
        require_whole(files, identity.shards, identity.source_count)
        service = None
        if job_file.service is not None:
            service = RuleService.of(job_file.service, self.environment)
            stack.callback(service.close)
        surroundings = SinkSurroundings(
            job=job_file.name,
            stream=job_file.stream,
            checkpoint_id=identity.id,
            environment=self.environment,
            service=service,
        )
        discovery = stack.enter_context(self._discovery(last_snapshot(files)))
        outputs = stack.enter_context(create_sinks(job_file.outputs, surroundings))
        return _Parts(
            files=files,
            shipped=ShippedFiles(self.spark, directory),
            identity=identity,
            owner=take_over(files, f"{job_file.name} on {platform.node()}, process {os.getpid()}"),
            defaults=RuleDefaults(
                job_file.signing_keys(self.environment),
                job_file.limits_per_key,
                job_file.limits.partial_matches_per_shard,
                row_limits(job_file.limits, RowLimits()),
            ),
            discovery=discovery,
            outputs=outputs,
            progress=JobProgress(identity.shards, job_file.time_mode),
            search=CulpritSearch(),
            reporter=None
            if service is None
            else stack.enter_context(self._reporter(service, discovery, outputs)),
        )

    def _discovery(self, initial: Snapshot | None) -> BackgroundDiscovery:
        surroundings = DiscovererSurroundings(
            stream=self.job_file.stream, environment=self.environment, initial=initial
        )
        return BackgroundDiscovery(
            create_discoverer(self.job_file.discoverer, surroundings), initial
        )

    def _reporter(
        self, service: RuleService, discovery: BackgroundDiscovery, outputs: JobOutputs
    ) -> JobReporter:
        job = ReportingJob(
            self.job_file.stream,
            self.job_file.name,
            str(uuid.uuid4()),
            {
                "percept": version("percept"),
                "spark": self.spark.version,
                "python": platform.python_version(),
                "host": platform.node(),
                "process": str(os.getpid()),
                "master": str(self.spark.sparkContext.master),
            },
        )
        return JobReporter(
            service,
            job,
            self._give_way,
            discovery=lambda: discovery.health,
            failing_outputs=lambda: outputs.failing,
        )

    def _give_way(self, reason: str) -> None:
        _log.warning("the job ends: %s", reason)
        threading.Thread(target=self.stop, name="percept-stop", daemon=True).start()

    def _run_queries(self, parts: _Parts, newest: Snapshot, *, closes: bool) -> None:
        """Run a query to its end, and another as often as the stream or the clock has changed."""
        # A batch that was cut off is run again as it was, whatever has changed since.
        while self._runs_again(
            parts, unfinished_stream(parts.files) or newest.stream, closes=closes
        ):
            newest = parts.discovery.latest() or newest

    def _runs_again(self, parts: _Parts, defined: StreamDefinition, *, closes: bool) -> bool:
        """Run one query; return whether another should follow, as something has changed.

        `closes`: run one batch, which ends everything that is open.
        """
        if problems := list(misfits(self.job_file, defined)):
            raise StreamMismatch(problems)
        stream = stream_of_job(self.job_file, defined)
        time = self._time_rules(stream)
        watch = StreamWatch(parts.discovery.latest, defined)
        pins = BatchPins(
            parts.files,
            parts.defaults,
            stream,
            time.watermark_delay_ms,
            idle_after_ms=self.job_file.time.idle_after_ms,
            closes=closes,
            unfit=CodeTrial(self.job_file.worker_limits),
            list_content=parts.discovery.list_content,
            sources=() if time.column is None else self.job_file.source_names,
        )
        _report_start(parts, pins)
        wanted = EventsWanted(
            time.column,
            time.max_future_skew_ms,
            has_places=bool(self.job_file.row_kinds & {"late", "error"}),
            source_column=self.job_file.source_column,
        )
        sources = self._sources(stream, wanted, parts.files)
        batches = MicroBatches(
            spark=self.spark,
            files=parts.files,
            shipped=parts.shipped,
            pins=pins,
            latest=watch.latest,
            outputs=parts.outputs,
            progress=parts.progress,
            on_batch=lambda done: self._done(parts, done),
            on_begin=lambda: _on_batch_start(parts),
            on_failure=self.on_failure,
            check=lambda batch_id: [row for each in sources for row in each.check(batch_id)],
            search=parts.search,
            limits=self.job_file.worker_limits,
            fails_on_error=self.job_file.on_error == "fail",
            has_ticks=self.job_file.has_ticks,
            asked=lambda: () if parts.reporter is None else parts.reporter.asked,
            tells_events=self.job_file.tells_events,
        )
        fit_sources(
            parts.files,
            has_ticks=self.job_file.has_ticks,
            sources=parts.identity.source_count,
        )
        write_directly(self.spark, parts.files.files)
        self.spark.conf.set("spark.sql.shuffle.partitions", str(parts.identity.shards))
        self._query = JobQuery(
            rows=self._rows(parts, self._planned(sources, stream_frames(stream, wanted)), time),
            batches=batches,
            watch=watch,
            name=f"{self.job_file.stream}/{self.job_file.name}",
            checkpoint=self.job_file.checkpoint,
            trigger=Trigger(once=True) if closes else self.job_file.trigger,
        )
        if self.is_stopping:
            return False
        try:
            self._query.run()
        except BatchUndone as undone:
            is_to_fail = self.job_file.on_error == "fail"
            plan_retry(undone, parts.files, parts.search, fails_on_error=is_to_fail)
            return not self.is_stopping
        except WorkerBeganLate as late:
            plan_start(late, newest_batch(parts.files, "offsets"), parts.search)
            return not self.is_stopping
        if self._query.was_set_back:
            _log.warning("the clock was set back: another query begins, so that no batch waits")
        return (watch.has_changed or self._query.was_set_back) and not self.is_stopping

    def _sources(
        self, stream: StreamDefinition, wanted: EventsWanted, files: Files
    ) -> list[SourceEvents]:
        found = []
        for number, (place, source) in enumerate(self.job_file.placed_sources):
            with _naming(place, source):
                events = read_source(self.spark, source, stream, wanted, files, number=number)
            found.append(replace(events, check=_named_check(place, source, events)))
        return found

    def _planned(self, sources: Sequence[SourceEvents], frames: EventFrames) -> list[PlannedSource]:
        """Return the sources of a query in the order in which Spark numbers them: ticks last."""
        has_times = self.job_file.time.by == "event" and self.job_file.sources is not None
        names = self.job_file.source_names if has_times else [""] * len(sources)
        planned = [
            PlannedSource(each.frame, each.read, name)
            for name, each in zip(names, sources, strict=True)
        ]
        if self.job_file.has_ticks:
            planned.append(ticks(self.spark, self.job_file.trigger, frames))
        return planned

    def _rows(self, parts: _Parts, sources: Sequence[PlannedSource], time: TimeRules) -> DataFrame:
        plan = StagePlan(
            rules=PinnedRules(parts.defaults, self.job_file.worker_limits),
            shard_keys=spread_shard_keys(self.spark, parts.identity.shards),
            matching=MatchSettings(
                self.job_file.row_kinds,
                fails_on_error=self.job_file.on_error == "fail",
                writes_lines=makes_lines(self.spark, self.job_file.outputs),
                lines=line_route(self.spark, parts.outputs, parts.identity.shards),
            ),
            by_clock=time.column is None,
        )
        return output_rows(sources, time.watermark_delay_ms, plan)

    def _time_rules(self, stream: StreamDefinition) -> TimeRules:
        if self.job_file.time.by == "processing":
            return TimeRules(column=None)
        return TimeRules(
            stream.event_time_column, stream.allowed_delay_ms, self.job_file.time.max_future_skew_ms
        )

    def _done(self, parts: _Parts, done: BatchDone) -> None:
        if parts.reporter is not None:
            parts.reporter.update(done.status)
        self.on_batch(done)


@contextmanager
def _naming(place: str, source: Source) -> Iterator[None]:
    """Name the one of several sources that an error is about."""
    try:
        yield
    except SourceError as error:
        if place == "source":
            raise
        raise SourceError(f"{place} ({source.name}): {error}") from error


def _named_check(
    place: str, source: Source, events: SourceEvents
) -> Callable[[int], list[OutputRow]]:
    def check(batch_id: int) -> list[OutputRow]:
        with _naming(place, source):
            return events.check(batch_id)

    return check


def _on_batch_start(parts: _Parts) -> None:
    parts.owner.require()
    if parts.reporter is not None:
        parts.reporter.batch_begins()


def _report_start(parts: _Parts, pins: BatchPins) -> None:
    """Tell what runs before the first batch, which may take a while; an empty source has none."""
    if parts.reporter is None:
        return
    status = JobStatus(time_mode=parts.progress.time_mode)
    if pins.record is not None:
        status = parts.progress.resumed(pins.record, pins.timeline)
    parts.reporter.update(status)

"""Prometheus metrics of jobs, read from the store at each scrape.

Every process of a service exports the same values: aggregate with `max`. Points in time are
exported as such, so that `time() - percept_job_watermark_timestamp_seconds` is the lag.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import structlog
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from api.jobs import repository
from api.jobs.tables import Job
from api.jobs.views import discovery_view, job_state
from api.runtime import Clock
from api.settings import Settings
from api.store.database import Database
from api.store.readiness import Readiness
from api.store.unavailable import StoreUnavailable
from api.streams.service import existing_stream
from contract.service.jobs import DiscoveryView

_LABELS: Final = ("stream", "job")
_RUNNING: Final = ("pending", "active", "shadow", "canary", "draining", "paused", "quarantined")

_StatesByJob = Mapping[str, Mapping[str, int]]
_Found = tuple[Sequence[Job], _StatesByJob, Mapping[str, int], Mapping[str, int]]

_log = structlog.get_logger("percept.jobs")


class JobCollector(Collector):
    """Collects what is worth an alert: a job is down, lags behind, or has quarantined something."""

    def __init__(
        self, database: Database, readiness: Readiness, now_ms: Clock, settings: Settings
    ) -> None:
        self._database = database
        self._readiness = readiness
        self._now_ms = now_ms
        self._settings = settings

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield whether the store can be used and, if so, the metrics of all jobs."""
        found = self._found()
        yield GaugeMetricFamily(
            "percept_store_up", "1 = the store answers, 0 = it does not.", value=found is not None
        )
        if found is not None:
            yield from self._of_jobs(*found)

    def _found(self) -> _Found | None:
        if not self._readiness.was_ready:
            return None  # as just asked: it may take long to find out again
        try:
            with self._database.reading() as session:
                jobs = [job for job in repository.all_jobs(session) if job.stopped_at_ms is None]
                job_ids = [job.id for job in jobs]
                counted = repository.count_states(session, job_ids)
                throttled = repository.count_throttled(session, job_ids)
                newest = {
                    name: existing_stream(session, name).epoch
                    for name in {job.stream for job in jobs}
                }
        except StoreUnavailable as error:
            # The other metrics are wanted most of all while the store is away.
            _log.warning("no metrics of jobs: the store does not answer", error=str(error))
            return None
        return jobs, counted, newest, throttled

    def _of_jobs(
        self,
        jobs: Sequence[Job],
        counted: _StatesByJob,
        newest: Mapping[str, int],
        throttled: Mapping[str, int],
    ) -> Iterator[GaugeMetricFamily]:
        now_ms = self._now_ms()

        def is_up(job: Job) -> bool:
            return job_state(job, now_ms, self._settings) in {"starting", "running"}

        yield _gauge(
            "up",
            "1 = it starts or runs, 0 = stale; a stopped one has no series.",
            jobs,
            is_up,
        )
        yield _gauge(
            "heartbeat_timestamp_seconds",
            "Time of the newest heartbeat.",
            jobs,
            lambda job: _seconds(job.heartbeat_at_ms),
        )
        yield _gauge(
            "watermark_timestamp_seconds",
            "Event time up to which everything is done.",
            jobs,
            lambda job: _seconds(job.watermark_ms),
        )
        yield _gauge(
            "epochs_behind",
            "Changes of the stream that its newest batch did not have.",
            jobs,
            lambda job: None if job.epoch is None else max(newest[job.stream] - job.epoch, 0),
        )
        yield _gauge(
            "backlog_events",
            "Events known at the source and not yet read.",
            jobs,
            lambda job: job.backlog_events,
        )
        yield _gauge(
            "batch_running_seconds",
            "How long the batch under way has been running, as last reported; 0 between batches.",
            jobs,
            lambda job: (job.batch_running_ms or 0) / 1_000,
        )
        yield _gauge(
            "left_out_matches",
            "Matches and timeouts not output because of a limit, since the start of the instance.",
            jobs,
            lambda job: job.left_out,
        )
        yield _gauge(
            "dropped_partial_matches",
            "Partial matches given up where versions ended, since the start of the instance.",
            jobs,
            lambda job: job.dropped,
        )
        yield _gauge(
            "released_matches",
            "Complete matches that came out where versions ended, since the start of the instance.",
            jobs,
            lambda job: job.released,
        )
        yield _gauge(
            "shadow_finds",
            "Matches of tried versions that did not count, since the start of the instance.",
            jobs,
            lambda job: job.shadow,
        )
        yield _gauge(
            "suppressed_matches",
            "Matches that did not go out as their rules say, since the start of the instance.",
            jobs,
            lambda job: job.suppressed,
        )
        yield _gauge(
            "unsuppressed_matches",
            "Matches that went out as more different ones came than are kept, since the start of "
            "the instance.",
            jobs,
            lambda job: job.unsuppressed,
        )
        yield _gauge(
            "grouped_matches",
            "Matches that others, which went out, stand for, since the start of the instance.",
            jobs,
            lambda job: job.grouped,
        )
        yield _gauge(
            "throttled_rules",
            "Rules that have spent their budget of matches.",
            jobs,
            lambda job: throttled[job.id],
        )
        discovery = {job.id: discovery_view(job) for job in jobs}
        yield _gauge(
            "discovery_up",
            "1 = the source of its rules could be read, 0 = not: the last good set runs.",
            jobs,
            lambda job: _is_ok(discovery[job.id]),
        )
        yield _gauge(
            "discovery_unreadable_rules",
            "Rules in that source that cannot run as they stand there.",
            jobs,
            lambda job: discovery[job.id].unreadable,
        )
        versions = GaugeMetricFamily(
            "percept_job_versions", "Versions of processors by state.", labels=(*_LABELS, "state")
        )
        for job in jobs:
            for state in _RUNNING:
                count = counted[job.id].get(state, 0)
                versions.add_metric((job.stream, job.name, state), count)
        yield versions


def _gauge(
    name: str, text: str, jobs: Sequence[Job], value_of: Callable[[Job], float | None]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"percept_job_{name}", text, labels=_LABELS)
    for job in jobs:
        value = value_of(job)
        if value is not None:
            family.add_metric((job.stream, job.name), value)
    return family


def _is_ok(discovery: DiscoveryView) -> float | None:
    return None if discovery.status == "unknown" else float(discovery.status == "ok")


def _seconds(time_ms: int | None) -> float | None:
    return None if time_ms is None else time_ms / 1_000

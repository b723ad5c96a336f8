"""Views of jobs: their last report, and whether it is fresh; reads only."""

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy.orm import Session

from api.jobs import repository
from api.jobs.history import COUNTERS
from api.jobs.tables import Counted, HeldVersion, Job
from api.settings import Settings
from api.store.views import view_of
from api.streams.service import existing_stream
from contract.reports import Counters, DiscoveryReport
from contract.service.jobs import (
    DiscoveryView,
    HeldVersionView,
    InstanceView,
    JobDetail,
    JobState,
    JobSummary,
    JobView,
    SourceView,
)


def job_state(job: Job, now_ms: int, settings: Settings) -> JobState:
    """Return the state of a job by the clock of the service."""
    if job.stopped_at_ms is not None:
        return "stopped"
    heard_at_ms = job.registered_at_ms if job.heartbeat_at_ms is None else job.heartbeat_at_ms
    # What was heard long after now was heard before the clock was set back.
    if abs(now_ms - heard_at_ms) > settings.stale_after_seconds * 1_000:
        return "stale"
    return "starting" if job.heartbeat_at_ms is None else "running"


def job_summary(job: Job, now_ms: int, settings: Settings) -> JobSummary:
    """Return a summary of a job, and whether its report is fresh."""
    return view_of(JobSummary, job, state=job_state(job, now_ms, settings))


def job_views(
    session: Session, jobs: Sequence[Job], now_ms: int, settings: Settings
) -> list[JobView]:
    """Return jobs of one stream as they last reported."""
    counted = repository.count_states(session, [job.id for job in jobs])
    return [
        view_of(
            JobView,
            job,
            state=job_state(job, now_ms, settings),
            newest_epoch=existing_stream(session, job.stream).epoch,
            newest_event_time=job.newest_event_ms,
            properties=json.loads(job.properties),
            counters=counters(job),
            discovery=discovery_view(job),
            sources=[_source_view(each) for each in json.loads(job.sources)],
            failing_outputs=json.loads(job.failing_outputs),
            versions=counted[job.id],
        )
        for job in jobs
    ]


def job_detail(session: Session, job: Job, now_ms: int, settings: Settings) -> JobDetail:
    """Return a job with its newest starts."""
    (view,) = job_views(session, [job], now_ms, settings)
    instances = [
        view_of(InstanceView, instance) for instance in repository.newest_instances(session, job.id)
    ]
    return JobDetail(**view.model_dump(), instances=instances)


def held_version_view(held: HeldVersion) -> HeldVersionView:
    """Return the status of one version of a processor in a job."""
    return view_of(HeldVersionView, held, counters=counters(held))


def discovery_view(job: Job) -> DiscoveryView:
    """Return the status of the source of a job's rules, as last reported."""
    report = DiscoveryReport.model_validate_json(job.discovery)
    return DiscoveryView(
        status=report.status,
        last_success=report.last_success_ms,
        error=report.error,
        unreadable=report.unreadable,
        problems=report.problems,
    )


def _source_view(report: dict[str, Any]) -> SourceView:
    return SourceView(
        name=report["name"],
        newest_event_time=report["newest_event_ms"],
        idle_since=report["idle_since_ms"],
    )


def counters(record: Counted) -> Counters:
    """Return the counters of a record."""
    return Counters(**{name: getattr(record, name) for name in COUNTERS})

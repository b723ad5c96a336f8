"""Views of jobs: their last report, and whether it is fresh; reads only."""

import json
from collections.abc import Sequence
from typing import Any, cast

from sqlalchemy.orm import Session

from api.jobs import repository
from api.jobs.history import COUNTERS
from api.jobs.tables import Counted, HeldVersion, Job
from api.settings import Settings
from api.streams.service import existing_stream
from contract.reports import Counters, DiscoveryReport, RunningState
from contract.service.jobs import (
    DiscoveryView,
    HeldVersionView,
    InstanceView,
    JobDetail,
    JobState,
    JobSummary,
    JobView,
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
    return JobSummary(**_summary(job, now_ms, settings))


def job_views(
    session: Session, jobs: Sequence[Job], now_ms: int, settings: Settings
) -> list[JobView]:
    """Return jobs of one stream as they last reported."""
    counted = repository.count_states(session, [job.id for job in jobs])
    return [
        JobView(**_view(session, job, now_ms, settings), versions=_states(counted[job.id]))
        for job in jobs
    ]


def job_detail(session: Session, job: Job, now_ms: int, settings: Settings) -> JobDetail:
    """Return a job with its newest starts."""
    (view,) = job_views(session, [job], now_ms, settings)
    instances = [
        InstanceView(
            instance_id=instance.instance_id,
            registered_at=instance.registered_at_ms,
            ended_at=instance.ended_at_ms,
            end_reason=instance.end_reason,
        )
        for instance in repository.newest_instances(session, job.id)
    ]
    return JobDetail(**view.model_dump(), instances=instances)


def held_version_view(held: HeldVersion) -> HeldVersionView:
    """Return the status of one version of a processor in a job."""
    return HeldVersionView(
        processor_id=held.processor_id,
        version=held.version,
        state=cast("RunningState", held.state),
        since=held.since_ms,
        reported_at=held.reported_at_ms,
        active_from=held.active_from_ms,
        active_until=held.active_until_ms,
        counters=counters(held),
        partial_matches=held.partial_matches,
        state_bytes=held.state_bytes,
        last_match=held.last_match_ms,
        throttled_until=held.throttled_until_ms,
        error=held.error,
        traceback=held.traceback,
    )


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


def counters(record: Counted) -> Counters:
    """Return the counters of a record."""
    return Counters(**{name: getattr(record, name) for name in COUNTERS})


def _states(counted: dict[str, int]) -> dict[RunningState, int]:
    return cast("dict[RunningState, int]", counted)


def _summary(job: Job, now_ms: int, settings: Settings) -> dict[str, Any]:
    return {
        "id": job.id,
        "name": job.name,
        "state": job_state(job, now_ms, settings),
        "epoch": job.epoch,
        "watermark": job.watermark_ms,
        "heartbeat_at": job.heartbeat_at_ms,
    }


def _view(session: Session, job: Job, now_ms: int, settings: Settings) -> dict[str, Any]:
    return _summary(job, now_ms, settings) | {
        "stream": job.stream,
        "instance_id": job.instance_id,
        "properties": json.loads(job.properties),
        "registered_at": job.registered_at_ms,
        "stopped_at": job.stopped_at_ms,
        "stop_reason": job.stop_reason,
        "newest_epoch": existing_stream(session, job.stream).epoch,
        "batch_id": job.batch_id,
        "newest_event_time": job.newest_event_ms,
        "time_mode": job.time_mode,
        "silent_since": job.silent_since_ms,
        "events_per_second": job.events_per_second,
        "batch_duration_ms": job.batch_duration_ms,
        "batch_running_ms": job.batch_running_ms,
        "backlog_events": job.backlog_events,
        "counters": counters(job),
        "malformed_events": job.malformed_events,
        "malformed_reason": job.malformed_reason,
        "partial_matches": job.partial_matches,
        "state_bytes": job.state_bytes,
        "discovery": discovery_view(job),
        "failing_outputs": json.loads(job.failing_outputs),
    }

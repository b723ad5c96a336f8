"""Jobs register, report and stop; people read their status."""

from typing import Annotated

from fastapi import Depends, Path, Query

from api.access.authentication import Job, Publisher, Viewer, ViewerOrJob
from api.jobs import history, repository, service, views
from api.routing import slice_router
from api.runtime import CurrentRuntime
from api.streams.service import existing_stream
from api.transactions import Read, Write
from api.web.paging import Cursor, Limit, cursor_behind, decoded_cursor
from api.web.problems import documented
from cep.definition.document import ProcessorId, StreamName
from cep.instants import Instant
from contract.asked_keys import KeyAnswers, KeyAnswersReceipt
from contract.report_values import JobName
from contract.reports import (
    Heartbeat,
    HeartbeatAnswer,
    JobRegistration,
    JobStop,
    RegisteredJob,
    RunningState,
)
from contract.service.jobs import HeldVersionView, History, JobDetail, JobView
from contract.service.pages import Page

router = slice_router("/v1", "jobs", for_confined=True)

JobIdInPath = Annotated[str, Path(pattern="^[0-9a-f]{16}$")]


def _interval(
    runtime: CurrentRuntime,
    since: Annotated[
        Instant | None, Query(description="From this time on; left out = as far back as is kept.")
    ] = None,
    until: Annotated[
        Instant | None, Query(description="Before this time; left out = until now.")
    ] = None,
) -> tuple[int, int]:
    now_ms = runtime.now_ms()
    kept_from_ms = now_ms - runtime.settings.history_hours * 3_600_000
    since_ms = kept_from_ms if since is None else max(since, kept_from_ms)
    return since_ms, now_ms + 1 if until is None else min(until, now_ms + 1)


Interval = Annotated[tuple[int, int], Depends(_interval)]


@router.put("/streams/{stream}/jobs/{name}", responses=documented(404, 409))
def register_job(
    stream: Annotated[StreamName, Path()],
    name: Annotated[JobName, Path()],
    registration: JobRegistration,
    runtime: CurrentRuntime,
    _principal: Job,
    write: Write,
) -> RegisteredJob:
    """Register one start of a job. From now on it alone may report for the job."""
    return service.register(write, stream, name, registration, runtime.settings)


@router.get("/streams/{stream}/jobs", responses=documented(404))
def list_jobs(
    stream: Annotated[StreamName, Path()],
    runtime: CurrentRuntime,
    _principal: ViewerOrJob,
    session: Read,
) -> list[JobView]:
    """Return the jobs of a stream by name; a stream has a hundred at most."""
    existing_stream(session, stream)
    jobs = repository.jobs_of(session, stream)
    return views.job_views(session, jobs, runtime.now_ms(), runtime.settings)


@router.get("/jobs/{job_id}", responses=documented(404))
def read_job(
    job_id: JobIdInPath, runtime: CurrentRuntime, _principal: ViewerOrJob, session: Read
) -> JobDetail:
    """Return a job with its newest starts."""
    job = service.existing_job(session, job_id)
    return views.job_detail(session, job, runtime.now_ms(), runtime.settings)


@router.post("/jobs/{job_id}/heartbeats", responses=documented(404, 409))
def post_heartbeat(
    job_id: JobIdInPath,
    heartbeat: Heartbeat,
    runtime: CurrentRuntime,
    _principal: Job,
    write: Write,
) -> HeartbeatAnswer:
    """Take over what a job reports; versions it does not name stay as they were."""
    return service.take_heartbeat(write, job_id, heartbeat, runtime.settings)


@router.post("/jobs/{job_id}/key-answers", responses=documented(404, 409))
def post_key_answers(
    job_id: JobIdInPath, told: KeyAnswers, _principal: Job, write: Write
) -> KeyAnswersReceipt:
    """Tell what is open for keys that the answer to a heartbeat asked about, after a batch."""
    return service.take_key_answers(write, job_id, told)


@router.post("/jobs/{job_id}/stop", responses=documented(404, 409))
def stop_job(
    job_id: JobIdInPath,
    announcement: JobStop,
    runtime: CurrentRuntime,
    _principal: Job,
    write: Write,
) -> JobDetail:
    """Announce that a job stops, so that its silence is no alarm."""
    job = service.stop(write, job_id, announcement)
    write.session.flush()
    return views.job_detail(write.session, job, runtime.now_ms(), runtime.settings)


@router.delete("/jobs/{job_id}", status_code=204, responses=documented(404))
def delete_job(job_id: JobIdInPath, _principal: Publisher, write: Write) -> None:
    """Forget a job that is gone, with its history."""
    service.delete(write, job_id)


@router.get("/jobs/{job_id}/versions", responses=documented(404))
def list_held_versions(
    job_id: JobIdInPath,
    _principal: Viewer,
    session: Read,
    state: Annotated[RunningState | None, Query(description="In this state.")] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[HeldVersionView]:
    """Return what a job really runs, also what is published no more, by processor and version."""
    service.existing_job(session, job_id)
    processor_id, version = decoded_cursor(cursor, str, int) if cursor else ("", 0)
    after = (processor_id, version)
    found = repository.held_versions_after(session, job_id, state, after, limit + 1)
    next_cursor = cursor_behind(found, limit, lambda last: (last.processor_id, last.version))
    items = [views.held_version_view(held) for held in found[:limit]]
    return Page(items=items, next_cursor=next_cursor)


@router.get("/jobs/{job_id}/history", responses=documented(404))
def read_job_history(
    job_id: JobIdInPath, _principal: Viewer, session: Read, interval: Interval
) -> History:
    """Return the counters and gauges of a job, minute by minute, for charts."""
    service.existing_job(session, job_id)
    return history.job_history(session, job_id, *interval)


@router.get("/jobs/{job_id}/processors/{processor_id}/history", responses=documented(404))
def read_processor_history(
    job_id: JobIdInPath,
    processor_id: Annotated[ProcessorId, Path()],
    _principal: Viewer,
    session: Read,
    interval: Interval,
) -> History:
    """Return the counters of a processor in a job, per five minutes, for charts."""
    service.existing_job(session, job_id)
    return history.processor_history(session, job_id, processor_id, *interval)

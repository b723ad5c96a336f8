"""Jobs register, report and stop; one instance of a job reports at a time.

A heartbeat is one transaction under the lock of its job's row. It changes only the versions it
names, so that its cost depends on what has changed and not on how much runs.
"""

import secrets
from collections.abc import Iterable
from http import HTTPStatus
from typing import Final

from sqlalchemy.orm import Session

from api.audit.actions import Action
from api.audit.log import record
from api.jobs import asked_keys, history, history_repository, quarantines, repository
from api.jobs.tables import HeldVersion, Job, JobInstance, LastMatch
from api.settings import Settings
from api.streams.service import existing_stream, locked_stream
from api.transactions import Writing
from api.web.problems import Refusal, not_found
from contract.asked_keys import KeyAnswers, KeyAnswersReceipt
from contract.canonical import canonical_json
from contract.reports import (
    MATCHES_PER_POST,
    VERSIONS_PER_HEARTBEAT,
    Heartbeat,
    HeartbeatAnswer,
    JobRegistration,
    JobStop,
    RegisteredJob,
    RunningVersion,
)

MAXIMUM_JOBS: Final = 100
MAXIMUM_HELD: Final = 100_000
REMEMBERED_INSTANCES: Final = 20

_REPORTED = (
    "sequence",
    "epoch",
    "batch_id",
    "watermark_ms",
    "newest_event_ms",
    "time_mode",
    "silent_since_ms",
    "events_per_second",
    "batch_duration_ms",
    "batch_running_ms",
    "backlog_events",
    "malformed_events",
    "malformed_reason",
    "partial_matches",
    "state_bytes",
)
_HELD = (
    "active_from_ms",
    "active_until_ms",
    "partial_matches",
    "state_bytes",
    "last_match_ms",
    "throttled_until_ms",
    "interpreted_reason",
    "error",
    "traceback",
)
_HOUR_MS = 3_600_000


def existing_job(session: Session, job_id: str) -> Job:
    """Return a job.

    Raises:
        Refusal: there is none of this id (404).
    """
    job = repository.job_of(session, job_id)
    if job is None:
        raise _no_job(job_id)
    return job


def register(
    writing: Writing, stream: str, name: str, registration: JobRegistration, settings: Settings
) -> RegisteredJob:
    """Make an instance the current one of a job; the one before it is superseded.

    Registering the same instance again changes nothing.

    Raises:
        Refusal: no such stream (404), the instance has ended, or there are too many jobs (409).
    """
    locked_stream(writing, stream)  # two jobs of one name cannot be added at once
    job = repository.job_named(writing.session, stream, name)
    if job is None:
        job = _new_job(writing, stream, name)
    if job.instance_id != registration.instance_id or job.stopped_at_ms is not None:
        _supersede(writing, job, registration)
    return RegisteredJob(
        id=job.id,
        heartbeat_seconds=settings.heartbeat_seconds,
        stale_after_seconds=settings.stale_after_seconds,
        versions_per_heartbeat=VERSIONS_PER_HEARTBEAT,
        matches_per_post=MATCHES_PER_POST,
    )


def take_heartbeat(
    writing: Writing, job_id: str, heartbeat: Heartbeat, settings: Settings
) -> HeartbeatAnswer:
    """Store the report of a job; a repeated or older heartbeat changes nothing.

    Raises:
        Refusal: no such job (404), or another instance speaks for it, or it has stopped (409).
    """
    if quarantines.is_among(heartbeat.versions):
        _lock_stream_of(writing, job_id)
    job = _speaking_job(writing, job_id, heartbeat.instance_id)
    if heartbeat.sequence > job.sequence:
        _take_job(writing, job, heartbeat, settings)
        if heartbeat.replaces_all:
            repository.supersede_all(writing.session, job.id, writing.now_ms)
        _take_versions(writing, job, heartbeat.versions)
        writing.session.flush()
    held = repository.count_held(writing.session, job.id)
    if held > MAXIMUM_HELD:
        detail = f"A job may hold {MAXIMUM_HELD} versions; this one would hold {held}."
        raise Refusal(HTTPStatus.CONFLICT, detail)
    return HeartbeatAnswer(
        resend_all=heartbeat.held_versions is not None and heartbeat.held_versions != held,
        newest_epoch=existing_stream(writing.session, job.stream).epoch,
        asked_keys=asked_keys.asked_keys(writing.session, job.stream, writing.now_ms),
    )


def take_key_answers(writing: Writing, job_id: str, told: KeyAnswers) -> KeyAnswersReceipt:
    """Keep what a job tells of keys that somebody asks about.

    Raises:
        Refusal: no such job (404), or another instance speaks for it, or it has stopped (409).
    """
    job = _speaking_job(writing, job_id, told.instance_id)
    return KeyAnswersReceipt(taken=asked_keys.take_answers(writing, job, told.answers))


def stop(writing: Writing, job_id: str, announcement: JobStop) -> Job:
    """Mark a job as stopped on purpose.

    Raises:
        Refusal: no such job (404), or another instance speaks for it, or it has stopped (409).
    """
    _lock_stream_of(writing, job_id)
    job = _speaking_job(writing, job_id, announcement.instance_id)
    job.stopped_at_ms = writing.now_ms
    job.stop_reason = announcement.reason
    _end_instance(writing, job, announcement.reason or "stopped")
    _record(writing, "job.stop", job)
    return job


def delete(writing: Writing, job_id: str) -> None:
    """Remove a job with its history; if it still runs, it has to register again.

    Raises:
        Refusal: there is none of this id (404).
    """
    _lock_stream_of(writing, job_id)
    job = repository.locked_job(writing.session, job_id)
    if job is None:
        raise _no_job(job_id)
    _record(writing, "job.delete", job)
    repository.delete_job(writing.session, job_id)


def _new_job(writing: Writing, stream: str, name: str) -> Job:
    if repository.count_jobs(writing.session, stream) >= MAXIMUM_JOBS:
        detail = f"The stream has {MAXIMUM_JOBS} jobs, which is the limit. Delete one that is gone."
        raise Refusal(HTTPStatus.CONFLICT, detail)
    job = Job(
        id=secrets.token_hex(8),
        stream=stream,
        name=name,
        instance_id="",
        properties="{}",
        registered_at_ms=writing.now_ms,
    )
    writing.session.add(job)
    writing.session.flush()
    return job


def _supersede(writing: Writing, job: Job, registration: JobRegistration) -> None:
    session = writing.session
    instance_id = registration.instance_id
    if repository.instance_of(session, job.id, instance_id) is not None:
        raise Refusal(
            HTTPStatus.CONFLICT,
            f"The instance {instance_id} of job '{job.name}' has ended: it was stopped, or "
            f"superseded by {job.instance_id}. A restarted job takes a new instance id.",
        )
    if job.instance_id and job.stopped_at_ms is None:
        _end_instance(writing, job, f"superseded by {instance_id}")
    remembered = repository.newest_instances(session, job.id)
    for forgotten in remembered[REMEMBERED_INSTANCES - 1 :]:
        session.delete(forgotten)
    session.add(
        JobInstance(job_id=job.id, instance_id=instance_id, registered_at_ms=writing.now_ms)
    )
    repository.forget_held_versions(session, job.id)
    _reset(job, registration, writing.now_ms)
    _record(writing, "job.register", job)


def _reset(job: Job, registration: JobRegistration, now_ms: int) -> None:
    job.instance_id = registration.instance_id
    job.properties = canonical_json(registration.properties)
    job.registered_at_ms = now_ms
    job.heartbeat_at_ms = None
    job.stopped_at_ms = None
    job.stop_reason = ""
    _take_fields(job, Heartbeat.model_construct(instance_id=job.instance_id, sequence=0))


def _take_fields(job: Job, heartbeat: Heartbeat) -> dict[str, int]:
    for name in _REPORTED:
        setattr(job, name, getattr(heartbeat, name))
    job.discovery = canonical_json(heartbeat.discovery.model_dump())
    job.sources = canonical_json([each.model_dump() for each in heartbeat.sources])
    return history.take_over(job, heartbeat.counters)


def _take_job(writing: Writing, job: Job, heartbeat: Heartbeat, settings: Settings) -> None:
    growth = _take_fields(job, heartbeat)
    job.heartbeat_at_ms = writing.now_ms
    job.failing_outputs = canonical_json([each.model_dump() for each in heartbeat.failing_outputs])
    if history.add_job_growth(writing.session, job, growth, writing.now_ms):
        kept_from_ms = writing.now_ms - settings.history_hours * _HOUR_MS
        history_repository.forget_before(writing.session, job.id, kept_from_ms)
        repository.forget_superseded(writing.session, job.id, kept_from_ms)


def _take_versions(writing: Writing, job: Job, versions: Iterable[RunningVersion]) -> None:
    reported = {(each.processor_id, each.version): each for each in versions}
    known = {
        (held.processor_id, held.version): held
        for held in repository.held_versions(
            writing.session, [job.id], {processor_id for processor_id, _ in reported}
        )
    }
    for key, each in reported.items():
        was = known[key].state if key in known else ""
        if each.state == "quarantined" and was != each.state:
            quarantines.note(writing, job, each)
    grown: dict[str, dict[str, int]] = {}
    for key, each in reported.items():
        held = known.get(key)
        if held is None:
            held = HeldVersion(job_id=job.id, processor_id=key[0], version=key[1])
            writing.session.add(held)
        growth = _take_version(held, each, writing.now_ms)
        before = grown.get(key[0], {})
        grown[key[0]] = {name: before.get(name, 0) + more for name, more in growth.items()}
    history.add_processor_growth(writing.session, job.id, grown, writing.now_ms)
    _take_last_matches(writing, job, reported.values())


def _take_last_matches(writing: Writing, job: Job, versions: Iterable[RunningVersion]) -> None:
    newest: dict[str, int] = {}
    for each in versions:
        if each.last_match_ms is not None:
            before_ms = newest.get(each.processor_id, each.last_match_ms)
            newest[each.processor_id] = max(before_ms, each.last_match_ms)
    for known in repository.last_matches(writing.session, [job.id], newest):
        known.end_ms = max(known.end_ms, newest.pop(known.processor_id))
    writing.session.add_all(
        LastMatch(job_id=job.id, processor_id=processor_id, end_ms=end_ms)
        for processor_id, end_ms in newest.items()
    )


def _take_version(held: HeldVersion, reported: RunningVersion, now_ms: int) -> dict[str, int]:
    if held.state != reported.state:
        held.state = reported.state
        held.since_ms = now_ms
    for name in _HELD:
        setattr(held, name, getattr(reported, name))
    held.steps = canonical_json([step.model_dump() for step in reported.steps])
    held.reported_at_ms = now_ms
    return history.take_over(held, reported.counters)


def _lock_stream_of(writing: Writing, job_id: str) -> None:
    # What is recorded in the change log refers to the stream. It is locked before the job, as at a
    # registration, so that the two never wait for each other.
    stream = repository.stream_of_job(writing.session, job_id)
    if stream is None:
        raise _no_job(job_id)
    locked_stream(writing, stream)


def _speaking_job(writing: Writing, job_id: str, instance_id: str) -> Job:
    job = repository.locked_job(writing.session, job_id)
    if job is None:
        raise _no_job(job_id)
    if job.instance_id != instance_id:
        detail = f"The instance {instance_id} was superseded by {job.instance_id}. It should stop."
        raise Refusal(HTTPStatus.CONFLICT, detail)
    if job.stopped_at_ms is not None:
        detail = f"The instance {instance_id} has stopped. A restarted job registers again."
        raise Refusal(HTTPStatus.CONFLICT, detail)
    return job


def _end_instance(writing: Writing, job: Job, reason: str) -> None:
    instance = repository.instance_of(writing.session, job.id, job.instance_id)
    if instance is not None:
        instance.ended_at_ms = writing.now_ms
        instance.end_reason = reason


def _record(writing: Writing, action: Action, job: Job) -> None:
    record(writing, action, stream=job.stream, subject=f"{job.id} {job.name} {job.instance_id}")


def _no_job(job_id: str) -> Refusal:
    return not_found("job", job_id, "Register it with PUT /v1/streams/{stream}/jobs/{name}.")

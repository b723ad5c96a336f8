"""All SQL about jobs, their starts and the versions they hold."""

from collections.abc import Iterable, Sequence

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from api.jobs.tables import HeldVersion, Job, JobInstance, LastMatch

SUPERSEDED = "superseded"


def job_of(session: Session, job_id: str) -> Job | None:
    """Return a job."""
    return session.get(Job, job_id)


def locked_job(session: Session, job_id: str) -> Job | None:
    """Return a job whose row nobody else can lock until this transaction ends."""
    return session.scalar(select(Job).where(Job.id == job_id).with_for_update())


def stream_of_job(session: Session, job_id: str) -> str | None:
    """Return the name of the stream of a job."""
    return session.scalar(select(Job.stream).where(Job.id == job_id))


def job_named(session: Session, stream: str, name: str) -> Job | None:
    """Return the job of this name, locked."""
    query = select(Job).where(Job.stream == stream, Job.name == name).with_for_update()
    return session.scalar(query)


def jobs_of(session: Session, stream: str) -> Sequence[Job]:
    """Return the jobs of a stream, by name."""
    return session.scalars(select(Job).where(Job.stream == stream).order_by(Job.name)).all()


def all_jobs(session: Session) -> Sequence[Job]:
    """Return the jobs of all streams."""
    return session.scalars(select(Job).order_by(Job.stream, Job.name)).all()


def count_jobs(session: Session, stream: str) -> int:
    """Return how many jobs a stream has."""
    return session.scalar(select(func.count(Job.id)).where(Job.stream == stream)) or 0


def delete_job(session: Session, job_id: str) -> None:
    """Remove a job with all its data."""
    session.execute(delete(Job).where(Job.id == job_id))


def instance_of(session: Session, job_id: str, instance_id: str) -> JobInstance | None:
    """Return one start of a job."""
    return session.get(JobInstance, (job_id, instance_id))


def newest_instances(session: Session, job_id: str) -> Sequence[JobInstance]:
    """Return the stored starts of a job, newest first; the clock may have been set back."""
    query = (
        select(JobInstance)
        .where(JobInstance.job_id == job_id)
        .order_by(JobInstance.ended_at_ms.is_not(None), JobInstance.registered_at_ms.desc())
    )
    return session.scalars(query).all()


def held_versions(
    session: Session, job_ids: Iterable[str], processor_ids: Iterable[str]
) -> Sequence[HeldVersion]:
    """Return what these jobs hold of these processors, by processor and version."""
    query = (
        select(HeldVersion)
        .where(HeldVersion.job_id.in_(job_ids), HeldVersion.processor_id.in_(processor_ids))
        .order_by(HeldVersion.processor_id, HeldVersion.version)
    )
    return session.scalars(query).all()


def last_matches(
    session: Session, job_ids: Iterable[str], processor_ids: Iterable[str]
) -> Sequence[LastMatch]:
    """Return when these processors last matched in these jobs; none of those that never did."""
    query = select(LastMatch).where(
        LastMatch.job_id.in_(job_ids), LastMatch.processor_id.in_(processor_ids)
    )
    return session.scalars(query).all()


def held_versions_after(
    session: Session, job_id: str, state: str | None, after: tuple[str, int], limit: int
) -> Sequence[HeldVersion]:
    """Return what a job holds, by processor and version, starting after `after`."""
    processor_id, version = after
    behind = (HeldVersion.processor_id > processor_id) | (
        (HeldVersion.processor_id == processor_id) & (HeldVersion.version > version)
    )
    query = select(HeldVersion).where(HeldVersion.job_id == job_id, behind)
    if state is not None:
        query = query.where(HeldVersion.state == state)
    query = query.order_by(HeldVersion.processor_id, HeldVersion.version).limit(limit)
    return session.scalars(query).all()


def count_states(session: Session, job_ids: Sequence[str]) -> dict[str, dict[str, int]]:
    """Return by job how many of its versions are in which state."""
    counted: dict[str, dict[str, int]] = {job_id: {} for job_id in job_ids}
    query = (
        select(HeldVersion.job_id, HeldVersion.state, func.count())
        .where(HeldVersion.job_id.in_(job_ids))
        .group_by(HeldVersion.job_id, HeldVersion.state)
    )
    for job_id, state, count in session.execute(query):
        counted[job_id][state] = count
    return counted


def count_throttled(session: Session, job_ids: Sequence[str]) -> dict[str, int]:
    """Return by job how many of its processors have spent their budget of matches."""
    query = (
        select(HeldVersion.job_id, func.count(HeldVersion.processor_id.distinct()))
        .where(HeldVersion.job_id.in_(job_ids), HeldVersion.throttled_until_ms.is_not(None))
        .group_by(HeldVersion.job_id)
    )
    found = dict.fromkeys(job_ids, 0)
    for job_id, count in session.execute(query):
        found[job_id] = count
    return found


def count_held(session: Session, job_id: str) -> int:
    """Return how many versions a job holds, superseded ones left out."""
    query = select(func.count(HeldVersion.version)).where(
        HeldVersion.job_id == job_id, HeldVersion.state != SUPERSEDED
    )
    return session.scalar(query) or 0


def forget_held_versions(session: Session, job_id: str) -> None:
    """Remove what a job holds: another instance of it has started."""
    session.execute(delete(HeldVersion).where(HeldVersion.job_id == job_id))


def supersede_all(session: Session, job_id: str, now_ms: int) -> None:
    """Mark all versions of a job as no longer running; their counters are kept."""
    session.execute(
        update(HeldVersion)
        .where(HeldVersion.job_id == job_id, HeldVersion.state != SUPERSEDED)
        .values(state=SUPERSEDED, since_ms=now_ms, reported_at_ms=now_ms)
    )


def forget_superseded(session: Session, job_id: str, before_ms: int) -> None:
    """Remove versions that have not run for a long time."""
    session.execute(
        delete(HeldVersion).where(
            HeldVersion.job_id == job_id,
            HeldVersion.state == SUPERSEDED,
            HeldVersion.reported_at_ms < before_ms,
        )
    )

"""All SQL about the history of counters."""

from collections.abc import Iterable, Sequence
from typing import Final

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from api.jobs.tables import JobBucket, ProcessorBucket

JOB_BUCKET_MS: Final = 60_000
PROCESSOR_BUCKET_MS: Final = 300_000

_HOUR_MS: Final = 3_600_000


def job_bucket(session: Session, job_id: str, start_ms: int) -> JobBucket | None:
    """Return the bucket of a job that begins at a time."""
    return session.get(JobBucket, (job_id, start_ms))


def job_buckets(session: Session, job_id: str, starts: range) -> Sequence[JobBucket]:
    """Return the buckets of a job that begin in a range of times."""
    query = select(JobBucket).where(
        JobBucket.job_id == job_id,
        JobBucket.start_ms >= starts.start,
        JobBucket.start_ms < starts.stop,
    )
    return session.scalars(query).all()


def events_from(session: Session, job_id: str, start_ms: int) -> int:
    """Return how many events a job has read in the kept buckets that begin at a time or later."""
    query = select(func.sum(JobBucket.events)).where(
        JobBucket.job_id == job_id, JobBucket.start_ms >= start_ms
    )
    return int(session.scalar(query) or 0)


def processor_buckets(
    session: Session, job_id: str, processor_ids: Iterable[str], starts: range
) -> Sequence[ProcessorBucket]:
    """Return the buckets of processors in a job that begin in a range of times."""
    query = select(ProcessorBucket).where(
        ProcessorBucket.job_id == job_id,
        ProcessorBucket.processor_id.in_(processor_ids),
        ProcessorBucket.start_ms >= starts.start,
        ProcessorBucket.start_ms < starts.stop,
    )
    return session.scalars(query).all()


def forget_before(session: Session, job_id: str, start_ms: int) -> None:
    """Remove the buckets of a job that began before a time."""
    for table in (JobBucket, ProcessorBucket):
        session.execute(delete(table).where(table.job_id == job_id, table.start_ms < start_ms))


def newest_buckets(now_ms: int) -> range:
    """Return the starts of the twelve newest buckets of processors: the last hour."""
    newest_ms = now_ms - now_ms % PROCESSOR_BUCKET_MS
    return range(newest_ms - _HOUR_MS, newest_ms + 1, PROCESSOR_BUCKET_MS)[1:]


def matches_last_hour(
    session: Session, job_ids: Iterable[str], processor_ids: Iterable[str], now_ms: int
) -> dict[tuple[str, str], int]:
    """Return how many matches there were in the twelve newest buckets, by job and processor."""
    query = (
        select(
            ProcessorBucket.job_id, ProcessorBucket.processor_id, func.sum(ProcessorBucket.matches)
        )
        .where(
            ProcessorBucket.job_id.in_(job_ids),
            ProcessorBucket.processor_id.in_(processor_ids),
            ProcessorBucket.start_ms >= newest_buckets(now_ms).start,
        )
        .group_by(ProcessorBucket.job_id, ProcessorBucket.processor_id)
    )
    return {
        (job_id, processor_id): int(total) for job_id, processor_id, total in session.execute(query)
    }

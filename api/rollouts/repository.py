"""All SQL about what is compared while a version is tried."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import ColumnElement, and_, delete, func, select
from sqlalchemy.orm import Session

from api.jobs.tables import HeldVersion, Job
from api.processors.tables import Publication
from api.rollouts.tables import ComparedFind

_FOUND_BY: Final = {(True, True): "both", (True, False): "published", (False, True): "tried"}


@dataclass(frozen=True, slots=True)
class VersionsApart:
    """The version of a processor that is tried, and those that are published."""

    tried: int
    published: frozenset[int]


def versions_apart(session: Session, processor_ids: Collection[str]) -> dict[str, VersionsApart]:
    """Return the versions of those of some processors that have a rollout, by processor."""
    query = select(Publication.processor_id, Publication.version, Publication.share).where(
        Publication.processor_id.in_(processor_ids), Publication.until_epoch.is_(None)
    )
    tried: dict[str, int] = {}
    published: dict[str, set[int]] = {}
    for processor_id, version, share in session.execute(query):
        if share is None:
            published.setdefault(processor_id, set()).add(version)
        else:
            tried[processor_id] = version
    return {
        processor_id: VersionsApart(version, frozenset(published.get(processor_id, ())))
        for processor_id, version in tried.items()
    }


def finds_of(
    session: Session, processor_id: str, tried: int, job: str, identities: Collection[str]
) -> dict[str, ComparedFind]:
    """Return the finds with these identities, by identity."""
    query = select(ComparedFind).where(
        *_of(processor_id, tried, job), ComparedFind.identity.in_(identities)
    )
    return {find.identity: find for find in session.scalars(query)}


def count(session: Session, processor_id: str, tried: int, job: str) -> int:
    """Return how many finds are kept of one rollout in one job."""
    query = select(func.count()).select_from(ComparedFind).where(*_of(processor_id, tried, job))
    return session.scalar(query) or 0


def forget(session: Session, processor_id: str) -> None:
    """Remove the finds of all rollouts of a processor."""
    session.execute(
        delete(ComparedFind).where(ComparedFind.processor_id == processor_id),
        execution_options={"synchronize_session": False},
    )


def held_by_jobs(
    session: Session, stream: str, processor_id: str, version: int
) -> Sequence[tuple[Job, HeldVersion]]:
    """Return what each job of a stream reports of a version, by the name of the job."""
    query = (
        select(Job, HeldVersion)
        .join(HeldVersion, HeldVersion.job_id == Job.id)
        .where(
            Job.stream == stream,
            HeldVersion.processor_id == processor_id,
            HeldVersion.version == version,
        )
        .order_by(Job.name)
    )
    return [(job, held) for job, held in session.execute(query)]


def tally(
    session: Session, processor_id: str, tried: int, job: str, since_ms: int | None
) -> Mapping[tuple[bool, bool], int]:
    """Return how many finds there are, by (found by the published version, by the one tried).

    Args:
        session: the transaction.
        processor_id: the processor.
        tried: the version that is tried.
        job: the job that found them.
        since_ms: only those that began at this event time or later; `None` = all.
    """
    query = (
        select(ComparedFind.by_published, ComparedFind.by_tried, func.count())
        .where(*_of(processor_id, tried, job), *_since(since_ms))
        .group_by(ComparedFind.by_published, ComparedFind.by_tried)
    )
    return {(published, tried): number for published, tried, number in session.execute(query)}


def count_compared(session: Session) -> list[tuple[str, str, str, int]]:
    """Return what is compared by now, as stream, processor, who found it, and how many."""
    query = (
        select(
            ComparedFind.stream,
            ComparedFind.processor_id,
            ComparedFind.by_published,
            ComparedFind.by_tried,
            func.count(),
        )
        .join(
            Publication,
            and_(
                Publication.processor_id == ComparedFind.processor_id,
                Publication.version == ComparedFind.tried_version,
                Publication.until_epoch.is_(None),
                Publication.share.is_not(None),
            ),
        )
        .group_by(
            ComparedFind.stream,
            ComparedFind.processor_id,
            ComparedFind.by_published,
            ComparedFind.by_tried,
        )
    )
    return [
        (stream, processor_id, _FOUND_BY[by_published, by_tried], number)
        for stream, processor_id, by_published, by_tried, number in session.execute(query)
    ]


def newest_of_one(  # noqa: PLR0913 - a rollout in a job, which side, since when, how many
    session: Session,
    processor_id: str,
    tried: int,
    job: str,
    *,
    by_tried: bool,
    since_ms: int | None,
    limit: int,
) -> Sequence[ComparedFind]:
    """Return the newest finds that only one of the versions made, newest first."""
    query = (
        select(ComparedFind)
        .where(
            *_of(processor_id, tried, job),
            *_since(since_ms),
            ComparedFind.by_tried.is_(by_tried),
            ComparedFind.by_published.is_(not by_tried),
        )
        .order_by(ComparedFind.end_ms.desc(), ComparedFind.identity)
        .limit(limit)
    )
    return session.scalars(query).all()


def _of(processor_id: str, tried: int, job: str) -> tuple[ColumnElement[bool], ...]:
    return (
        ComparedFind.processor_id == processor_id,
        ComparedFind.tried_version == tried,
        ComparedFind.job == job,
    )


def _since(since_ms: int | None) -> tuple[ColumnElement[bool], ...]:
    return () if since_ms is None else (ComparedFind.start_ms >= since_ms,)

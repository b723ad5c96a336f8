"""All SQL of the overview; reads only."""

from collections.abc import Collection, Sequence

from sqlalchemy import Select, and_, case, func, or_, select, tuple_
from sqlalchemy.orm import Session

from api.audit.tables import Change
from api.jobs.tables import HeldVersion, Job
from api.processors.repository import state_at
from api.processors.tables import Processor, ProcessorVersion, Publication
from contract.service.processors import DELETED

Quarantined = tuple[HeldVersion, Job]
Switch = tuple[str, str, int, int | None, int | None]
"""Stream, processor id, version, effective from and until in milliseconds."""


def newest_jobs(session: Session, limit: int) -> tuple[Sequence[Job], int]:
    """Return jobs by stream and name, stopped ones last, and how many there are in all."""
    is_stopped = case((Job.stopped_at_ms.is_(None), 0), else_=1)
    query = select(Job).order_by(is_stopped, Job.stream, Job.name).limit(limit)
    total = session.scalar(select(func.count(Job.id))) or 0
    return session.scalars(query).all(), total


def count_rules(session: Session, now_ms: int) -> dict[str, dict[str, int]]:
    """Return by stream how many processors are in which state, deleted ones left out."""
    counted: dict[str, dict[str, int]] = {}
    shown = state_at(now_ms).label("state_at")
    query = (
        select(Processor.stream, shown, func.count())
        .where(Processor.state != DELETED)
        .group_by(Processor.stream, shown)
    )
    for stream, state, count in session.execute(query):
        counted.setdefault(stream, {})[state] = count
    return counted


def quarantined(session: Session, limit: int) -> tuple[Sequence[Quarantined], int]:
    """Return the quarantined versions of jobs that have not stopped, newest first, and how many."""
    query = (
        select(HeldVersion, Job)
        .join(Job, Job.id == HeldVersion.job_id)
        .where(HeldVersion.state == "quarantined", Job.stopped_at_ms.is_(None))
    )
    newest = query.order_by(
        HeldVersion.since_ms.desc(), HeldVersion.processor_id, HeldVersion.version
    )
    found = session.execute(newest.limit(limit)).all()
    return [(held, job) for held, job in found], _count(session, query)


def switches(
    session: Session, from_ms: int, until_ms: int, limit: int
) -> tuple[Sequence[Switch], int]:
    """Return published versions that begin or end in `[from_ms, until_ms)`, and how many."""
    begins, ends = ProcessorVersion.effective_from_ms, ProcessorVersion.effective_until_ms
    query = (
        select(Publication.stream, Publication.processor_id, Publication.version, begins, ends)
        .join(
            ProcessorVersion,
            (ProcessorVersion.processor_id == Publication.processor_id)
            & (ProcessorVersion.version == Publication.version),
        )
        .where(
            Publication.until_epoch.is_(None),
            Publication.paused.is_(False),
            or_(and_(begins >= from_ms, begins < until_ms), and_(ends >= from_ms, ends < until_ms)),
        )
    )
    soonest = query.order_by(begins, ends, Publication.processor_id, Publication.version)
    found = session.execute(soonest.limit(limit)).all()
    return [(row[0], row[1], row[2], row[3], row[4]) for row in found], _count(session, query)


def epochs_made_at(
    session: Session, epochs: Collection[tuple[str, int]]
) -> dict[tuple[str, int], int]:
    """Return when epochs were made, by stream and number."""
    if not epochs:
        return {}
    query = select(Change.stream, Change.epoch, Change.at_ms).where(
        tuple_(Change.stream, Change.epoch).in_(epochs)
    )
    return {
        (stream, epoch): at_ms
        for stream, epoch, at_ms in session.execute(query)
        if stream is not None and epoch is not None
    }


def _count(session: Session, query: Select[*tuple[object, ...]]) -> int:
    return session.scalar(select(func.count()).select_from(query.subquery())) or 0

"""All SQL about snoozes."""

from collections.abc import Sequence

from sqlalchemy import func, or_, select, update
from sqlalchemy.orm import Session

from api.snooze_store.tables import Snooze


def open_snoozes(session: Session, stream: str, processor_id: str | None = None) -> list[Snooze]:
    """Return the snoozes that are in the newest snapshot, by rule, key and number."""
    query = select(Snooze).where(Snooze.stream == stream, Snooze.until_epoch.is_(None))
    if processor_id is not None:
        query = query.where(Snooze.processor_id == processor_id)
    return _in_order(session.scalars(query).all())


def snoozes_at(session: Session, stream: str, epoch: int) -> list[Snooze]:
    """Return the snoozes in the snapshot of an epoch, by rule, key and number."""
    query = select(Snooze).where(
        Snooze.stream == stream,
        Snooze.from_epoch <= epoch,
        or_(Snooze.until_epoch.is_(None), Snooze.until_epoch > epoch),
    )
    return _in_order(session.scalars(query).all())


def open_snooze(session: Session, processor_id: str, number: int) -> Snooze | None:
    """Return a snooze of a rule that is in the newest snapshot."""
    query = select(Snooze).where(
        Snooze.processor_id == processor_id, Snooze.number == number, Snooze.until_epoch.is_(None)
    )
    return session.scalar(query)


def reaching(
    session: Session, processor_id: str, key_text: str, time_ms: int, limit: int
) -> list[Snooze]:
    """Return the newest snoozes of a rule, for a key or all, that were to last past a time."""
    query = (
        select(Snooze)
        .where(
            Snooze.processor_id == processor_id,
            or_(Snooze.key_text.is_(None), Snooze.key_text == key_text),
            Snooze.until_ms > time_ms,
        )
        .order_by(Snooze.number.desc())
        .limit(limit)
    )
    return list(session.scalars(query))


def snoozed_until(session: Session, processor_ids: Sequence[str], now_ms: int) -> dict[str, int]:
    """Return until when those of these rules are snoozed that are so now for all keys."""
    query = (
        select(Snooze.processor_id, func.max(Snooze.until_ms))
        .where(
            Snooze.processor_id.in_(processor_ids),
            Snooze.until_epoch.is_(None),
            Snooze.key_text.is_(None),
            Snooze.until_ms > now_ms,
        )
        .group_by(Snooze.processor_id)
    )
    return {processor_id: until_ms for processor_id, until_ms in session.execute(query)}  # noqa: C416 - rows are no pairs to mypy


def end_of_processor(session: Session, processor_id: str, epoch: int) -> None:
    """End all snoozes of a rule with an epoch."""
    still_open = (Snooze.processor_id == processor_id, Snooze.until_epoch.is_(None))
    session.execute(update(Snooze).where(*still_open).values(until_epoch=epoch))


def count_open(session: Session, stream: str) -> int:
    """Return how many snoozes are in the newest snapshot of a stream."""
    query = select(func.count(Snooze.number)).where(
        Snooze.stream == stream, Snooze.until_epoch.is_(None)
    )
    return session.scalar(query) or 0


def counts_of_open(session: Session) -> list[tuple[str, int]]:
    """Return how many snoozes are in the newest snapshot of each stream."""
    query = (
        select(Snooze.stream, func.count(Snooze.number))
        .where(Snooze.until_epoch.is_(None))
        .group_by(Snooze.stream)
    )
    return [(stream, count) for stream, count in session.execute(query)]


def _in_order(snoozes: Sequence[Snooze]) -> list[Snooze]:
    # In Python: stores order texts in different ways.
    return sorted(snoozes, key=lambda each: (each.processor_id, each.key_text or "", each.number))

"""All SQL about snapshots; reads publications and never writes."""

from collections.abc import Iterator, Sequence

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from api.processors.tables import ProcessorVersion, Publication

PublishedVersion = tuple[str, bool, int, int | None, int | None, str, int | None]
"""Processor id, paused, version, effective from and until in milliseconds, definition, share."""


def published_versions(
    session: Session, stream: str, epoch: int, processor_ids: Sequence[str] | None = None
) -> Iterator[PublishedVersion]:
    """Yield what is published on a stream at an epoch, by processor id and version.

    Args:
        session: the transaction.
        stream: the stream.
        epoch: any epoch up to the newest.
        processor_ids: only these processors; `None` = all.
    """
    query = (
        select(
            Publication.processor_id,
            Publication.paused,
            Publication.version,
            ProcessorVersion.effective_from_ms,
            ProcessorVersion.effective_until_ms,
            ProcessorVersion.definition,
            Publication.share,
        )
        .join(
            ProcessorVersion,
            (ProcessorVersion.processor_id == Publication.processor_id)
            & (ProcessorVersion.version == Publication.version),
        )
        .where(
            Publication.stream == stream,
            Publication.from_epoch <= epoch,
            or_(Publication.until_epoch.is_(None), Publication.until_epoch > epoch),
        )
        .order_by(Publication.processor_id, Publication.version)
    )
    if processor_ids is not None:
        query = query.where(Publication.processor_id.in_(processor_ids))
    yield from session.execute(query)


def processors_changed_since(session: Session, stream: str, epoch: int) -> set[str]:
    """Return the ids of processors whose publications have changed after an epoch."""
    on_stream = select(Publication.processor_id).where(Publication.stream == stream)
    begun = on_stream.where(Publication.from_epoch > epoch)
    ended = on_stream.where(Publication.until_epoch > epoch)
    return set(session.scalars(begun.union(ended)))

"""All SQL about published versions for the comparison with what runs."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from api.processors.tables import Processor, ProcessorVersion, Publication
from contract.service.processors import DELETED, PublishedVersion


def processors_after(
    session: Session, stream: str, processor_ids: Sequence[str] | None, after: str, limit: int
) -> Sequence[Processor]:
    """Return processors of a stream that are not deleted, by id, starting after `after`.

    Args:
        session: the transaction.
        stream: the stream.
        processor_ids: only these; `None` = all.
        after: an id, or empty for the first page.
        limit: how many at most.
    """
    query = select(Processor).where(
        Processor.stream == stream, Processor.state != DELETED, Processor.id > after
    )
    if processor_ids is not None:
        query = query.where(Processor.id.in_(processor_ids))
    return session.scalars(query.order_by(Processor.id).limit(limit)).all()


def published_versions(
    session: Session, processor_ids: Sequence[str]
) -> dict[str, list[PublishedVersion]]:
    """Return the current publications of these processors, lowest version first."""
    published: dict[str, list[PublishedVersion]] = {each: [] for each in processor_ids}
    query = (
        select(
            Publication.processor_id,
            Publication.version,
            ProcessorVersion.effective_from_ms,
            ProcessorVersion.effective_until_ms,
        )
        .join(
            ProcessorVersion,
            (ProcessorVersion.processor_id == Publication.processor_id)
            & (ProcessorVersion.version == Publication.version),
        )
        .where(
            Publication.processor_id.in_(processor_ids),
            Publication.until_epoch.is_(None),
            Publication.share.is_(None),
        )
        .order_by(Publication.processor_id, Publication.version)
    )
    for processor_id, version, from_ms, until_ms in session.execute(query):
        published[processor_id].append(
            PublishedVersion(version=version, effective_from=from_ms, effective_until=until_ms)
        )
    return published

"""Publishes versions to jobs: publications begin and end, and each change is an epoch.

service ─► publish · republish · end ─► change log, epoch ─► snapshots
"""

from collections.abc import Sequence
from http import HTTPStatus

from api.audit.log import record
from api.processors import repository
from api.processors.schemas import PAUSED, PUBLISHED, SCHEDULED
from api.processors.tables import Processor, ProcessorVersion, Publication
from api.streams.epochs import record_epoch
from api.transactions import Writing
from api.web.problems import Refusal

MAXIMUM_SCHEDULED = 100


def publish(
    writing: Writing, processor: Processor, version: ProcessorVersion, action: str
) -> list[int]:
    """Give jobs a version; unless it is scheduled it takes the place of all others.

    Returns:
        The scheduled versions whose place it has taken; the change log names each of them.

    Raises:
        Refusal: too many versions are scheduled (409).
    """
    published = repository.open_publications(writing.session, processor.id)
    is_scheduled = version.effective_from_ms is not None
    if is_scheduled and len(published) >= MAXIMUM_SCHEDULED:
        detail = f"{len(published)} versions are published or scheduled already. Cancel some."
        raise Refusal(HTTPStatus.CONFLICT, detail)
    old_version = published[-1].version if published else None
    epoch = record_change(
        writing, processor, action, old_version=old_version, new_version=version.version
    )
    withdrawn = []
    if not is_scheduled:
        withdrawn = _withdrawn(writing, processor, published)
        end(published, epoch)
    _begin(writing, processor, [version.version], epoch)
    follow_state(writing, processor)
    return withdrawn


def republish(writing: Writing, processor: Processor, action: str, *, paused: bool) -> None:
    """Publish the same versions again, paused or not."""
    published = repository.open_publications(writing.session, processor.id)
    version = published[-1].version
    epoch = record_change(writing, processor, action, old_version=version, new_version=version)
    end(published, epoch)
    processor.state = PAUSED if paused else PUBLISHED
    _begin(writing, processor, [each.version for each in published], epoch)
    follow_state(writing, processor)


def _withdrawn(
    writing: Writing, processor: Processor, published: Sequence[Publication]
) -> list[int]:
    withdrawn = []
    for publication in published:
        version = repository.version_of(writing.session, processor.id, publication.version)
        if version is not None and version.effective_from_ms is not None:
            withdrawn.append(version.version)
            record(
                writing,
                "processor.withdraw",
                stream=processor.stream,
                processor_id=processor.id,
                old_version=version.version,
            )
    return withdrawn


def _begin(writing: Writing, processor: Processor, versions: Sequence[int], epoch: int) -> None:
    writing.session.add_all(
        Publication(
            processor_id=processor.id,
            version=version,
            from_epoch=epoch,
            stream=processor.stream,
            paused=processor.state == PAUSED,
        )
        for version in versions
    )
    writing.session.flush()


def end(published: Sequence[Publication], epoch: int) -> None:
    """Remove publications from the snapshots, starting with an epoch."""
    for publication in published:
        publication.until_epoch = epoch


def follow_state(writing: Writing, processor: Processor) -> None:
    """Update a processor's state from its publications."""
    if processor.state == PAUSED:
        return
    writing.session.flush()
    published = repository.open_publications(writing.session, processor.id)
    versions = (
        repository.version_of(writing.session, processor.id, each.version) for each in published
    )
    is_scheduled = any(version and version.effective_from_ms is not None for version in versions)
    processor.state = SCHEDULED if is_scheduled else PUBLISHED


def record_change(
    writing: Writing,
    processor: Processor,
    action: str,
    *,
    old_version: int | None = None,
    new_version: int | None = None,
) -> int:
    """Log a change of what runs, increment the revision and return the epoch."""
    touch(writing, processor)
    return record_epoch(
        writing,
        action,
        stream=processor.stream,
        processor_id=processor.id,
        old_version=old_version,
        new_version=new_version,
    )


def touch(writing: Writing, processor: Processor) -> None:
    """Increment the revision and record who did it, and when."""
    processor.revision += 1
    processor.updated_at_ms = writing.now_ms
    processor.updated_by = writing.actor

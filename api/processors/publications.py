"""Publishes versions to jobs: publications begin and end, and each change is an epoch.

service ─► publish · republish · end ─► approvals ─► change log, epoch ─► snapshots

Every change of what runs passes `record_change`, and with it the approvals that its stream asks
for, unless it says that it needs none: it only stops something, or nothing runs by it.
"""

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus

from api.audit.actions import Action
from api.audit.log import record
from api.processors import repository
from api.processors.approvals import require_approval
from api.processors.tables import Processor, ProcessorVersion, Publication
from api.streams.epochs import record_epoch
from api.transactions import Writing
from api.web.problems import Refusal
from contract.service.processors import PAUSED, PUBLISHED, SHADOW

MAXIMUM_SCHEDULED = 100


def publish(
    writing: Writing, processor: Processor, version: ProcessorVersion, action: Action
) -> list[int]:
    """Give jobs a version; unless it is scheduled it takes the place of all others.

    Returns:
        The scheduled versions whose place it has taken; the change log names each of them.

    A version that was tried is then no longer; another one goes on beside the new one.

    Raises:
        Refusal: too many versions are scheduled, or a canary has a share of the keys (409).
    """
    everything = repository.all_open_publications(writing.session, processor.id)
    rollout = next((each for each in everything if each.share is not None), None)
    is_promoted = rollout is not None and rollout.version == version.version
    if rollout is not None and rollout.share and not is_promoted:
        detail = (
            f"Version {rollout.version} is a canary for {rollout.share / 100:g}% of the keys. "
            "Promote it or end it first."
        )
        raise Refusal(HTTPStatus.CONFLICT, detail)
    published = [each for each in everything if each.share is None]
    is_scheduled = version.effective_from_ms is not None
    if is_scheduled and len(published) >= MAXIMUM_SCHEDULED:
        detail = f"{len(published)} versions are published or scheduled already. Cancel some."
        raise Refusal(HTTPStatus.CONFLICT, detail)
    old_version = published[-1].version if published else None
    epoch = record_change(
        writing,
        processor,
        action,
        old_version=old_version,
        new_version=version.version,
        needs_approval=processor.state != PAUSED,
    )
    withdrawn = []
    if not is_scheduled:
        withdrawn = _withdrawn(writing, processor, published)
        end(writing, published, epoch)
    if rollout is not None and is_promoted:
        end(writing, [rollout], epoch)
    make_current(processor, version)
    _begin(writing, processor, {version.version: None}, epoch)
    follow_state(writing, processor)
    return withdrawn


def make_current(processor: Processor, version: ProcessorVersion) -> None:
    """Let a version be the one that a processor is shown with."""
    processor.current_version = version.version
    processor.severity = json.loads(version.definition).get("severity", "")
    processor.warning_count = len(json.loads(version.warnings))


def try_beside(
    writing: Writing, processor: Processor, version: ProcessorVersion, share: int, action: Action
) -> None:
    """Give jobs a version to be tried, instead of the one that is tried now, if there is one."""
    before = repository.open_rollout(writing.session, processor.id)
    old_version = None if before is None else before.version
    # A shadow gives nothing out, and with a smaller share what is published has more keys.
    is_same = before is not None and before.version == version.version
    is_smaller = is_same and before is not None and share <= (before.share or 0)
    epoch = record_change(
        writing,
        processor,
        action,
        old_version=old_version,
        new_version=version.version,
        needs_approval=share > 0 and not is_smaller,
    )
    if before is not None:
        end(writing, [before], epoch)
    if not repository.open_publications(writing.session, processor.id):
        make_current(processor, version)
    _begin(writing, processor, {version.version: share}, epoch)
    follow_state(writing, processor)


def end_trying(writing: Writing, processor: Processor, rollout: Publication) -> None:
    """Take back the version that is tried; what is published has all keys again."""
    epoch = record_change(
        writing, processor, "rollout.end", old_version=rollout.version, needs_approval=False
    )
    end(writing, [rollout], epoch)
    follow_state(writing, processor)


def republish(writing: Writing, processor: Processor, action: Action, *, paused: bool) -> None:
    """Publish the same versions again, paused or not; what is tried likewise."""
    published = repository.all_open_publications(writing.session, processor.id)
    version = processor.current_version
    epoch = record_change(
        writing,
        processor,
        action,
        old_version=version,
        new_version=version,
        needs_approval=not paused,
    )
    end(writing, published, epoch)
    processor.state = PAUSED if paused else PUBLISHED
    _begin(writing, processor, {each.version: each.share for each in published}, epoch)
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


def _begin(
    writing: Writing, processor: Processor, shares: Mapping[int, int | None], epoch: int
) -> None:
    """Add publications; `shares` is `None` by version where it is not only tried."""
    writing.session.add_all(
        Publication(
            processor_id=processor.id,
            version=version,
            from_epoch=epoch,
            stream=processor.stream,
            paused=processor.state == PAUSED,
            share=share,
        )
        for version, share in shares.items()
    )
    writing.session.flush()


def end(writing: Writing, published: Sequence[Publication], epoch: int) -> None:
    """Remove publications from the snapshots, starting with an epoch.

    Those that have begun with this very epoch are in no snapshot at all, and leave no trace.
    """
    for publication in published:
        if publication.from_epoch != epoch:
            publication.until_epoch = epoch
            continue
        writing.session.delete(publication)
        writing.session.flush()  # what begins next may have its key


def follow_state(writing: Writing, processor: Processor) -> None:
    """Update a processor's state from its publications."""
    if processor.state == PAUSED:
        return
    writing.session.flush()
    published = repository.open_publications(writing.session, processor.id)
    if not published:
        processor.state = SHADOW
        return
    numbers = [each.version for each in published]
    versions = repository.versions_of(writing.session, processor.id, numbers)
    begins = [each.effective_from_ms for each in versions if each.effective_from_ms is not None]
    processor.state, processor.begins_ms = PUBLISHED, max(begins, default=None)


def record_change(  # noqa: PLR0913 - what is logged, by name
    writing: Writing,
    processor: Processor,
    action: Action,
    *,
    old_version: int | None = None,
    new_version: int | None = None,
    needs_approval: bool = True,
) -> int:
    """Log a change of what runs, increment the revision and return the epoch.

    Raises:
        Refusal: the stream asks for approvals, and the change has none (403).
    """
    approved = require_approval(writing, processor, needs_approval=needs_approval)
    touch(writing, processor)
    return record_epoch(
        writing,
        action,
        stream=processor.stream,
        processor_id=processor.id,
        old_version=old_version,
        new_version=new_version,
        subject=approved,
    )


def touch(writing: Writing, processor: Processor) -> None:
    """Increment the revision and record who did it, and when."""
    processor.revision += 1
    processor.updated_at_ms = writing.now_ms
    processor.updated_by = writing.actor

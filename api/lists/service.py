"""What happens to lists: created, given other values, described, deleted.

    lock the stream ─► what is it now? ─► approvals ─► version, epoch, log ─► jobs

Every change of values is an epoch, and takes effect at an event time, as a version of a rule does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus

from sqlalchemy.orm import Session

from api.audit.actions import Action
from api.audit.log import record
from api.list_store import contents, repository
from api.list_store.contents import DecodedContents, PackedContent
from api.list_store.tables import ListVersion, StoredList
from api.lists.changes import Edit, ListChange, PreparedVersion, Restoration, base_of, prepared
from api.processors import repository as processors
from api.processors.approvals import require_approval_of_list
from api.streams.epochs import record_epoch
from api.streams.service import locked_stream
from api.transactions import Writing
from api.web.preconditions import require_match
from api.web.problems import Refusal, not_found
from contract.service.lists import MOST_LISTS, MOST_SCHEDULED, ListDocument

_NAMED_SHOWN = 5


@dataclass(frozen=True, slots=True)
class ListChanged:
    """A list after a change: what has changed, and the scheduled versions it has withdrawn."""

    stored: StoredList
    made: PreparedVersion
    is_changed: bool
    withdrawn: Sequence[int] = ()


def existing_list(session: Session, stream: str, name: str) -> StoredList:
    """Return a list.

    Raises:
        Refusal: there is none of this name, or it was deleted (404).
    """
    stored = repository.list_of(session, stream, name)
    if stored is None or stored.is_deleted:
        remedy = f"Create it with POST /v1/streams/{stream}/lists."
        raise not_found("list", name, remedy, of=f"stream '{stream}'")
    return stored


def locked_list(writing: Writing, stream: str, name: str, if_match: str | None) -> StoredList:
    """Return a list that nobody else changes until this transaction ends.

    Raises:
        Refusal: there is no such stream or list (404), or it has been changed since (412, 428).
    """
    locked_stream(writing, stream)
    stored = existing_list(writing.session, stream, name)
    writing.session.refresh(stored)
    stored = existing_list(writing.session, stream, name)
    require_match(if_match, etag(stored))
    return stored


def create(writing: Writing, stream: str, document: ListDocument) -> StoredList:
    """Add a list without values; numbers of a deleted one of its name go on.

    It needs no approval: no rule can name it before, and values do.

    Raises:
        Refusal: no such stream (404), the name is taken, or there are too many (409).
    """
    session = writing.session
    locked_stream(writing, stream)
    if repository.count_lists(session, stream) >= MOST_LISTS:
        raise Refusal(HTTPStatus.CONFLICT, f"Stream '{stream}' has {MOST_LISTS} lists already.")
    stored = repository.list_of(session, stream, document.name)
    if stored is not None and not stored.is_deleted:
        detail = f"A list named '{document.name}' already exists. Change its values instead."
        raise Refusal(HTTPStatus.CONFLICT, detail)
    if stored is None:
        stored = StoredList(
            stream=stream,
            name=document.name,
            revision=0,
            latest_version=0,
            created_at_ms=writing.now_ms,
            created_by=writing.actor,
        )
        session.add(stored)
    stored.data_type, stored.description = document.data_type, document.description
    stored.is_deleted = False
    _touch(writing, stored)
    session.flush()
    empty = contents.packed(())
    epoch = _epoch(writing, stored, "list.create", "", None)
    _add_version(writing, stored, empty, epoch)
    return stored


def describe(writing: Writing, stored: StoredList, description: str) -> StoredList:
    """Say what a list is for; neither a version nor an epoch is made."""
    if stored.description != description:
        stored.description = description
        _touch(writing, stored)
        record(writing, "list.describe", stream=stored.stream, subject=stored.name)
    return stored


def change_values(  # noqa: PLR0913, PLR0917 - what is changed, how, when, and what was worked out before
    writing: Writing,
    decoded: DecodedContents,
    stored: StoredList,
    change: ListChange,
    effective_from_ms: int | None,
    ready: PreparedVersion | None = None,
    *,
    dry_run: bool = False,
) -> ListChanged:
    """Give a list other values; the same values again make no version.

    Args:
        writing: the transaction; the list is locked.
        decoded: contents that were looked into lately.
        stored: the list.
        change: what is changed.
        effective_from_ms: first event time the new version is for; `None` = at once, which takes
            the place of versions that are scheduled.
        ready: what was worked out before; it is used if it was made from what is there now.
        dry_run: only tell what would change. Nobody's approval is needed to be told.

    Raises:
        Refusal: as `prepared`; too many versions are scheduled (409), or the stream asks for
            approvals (403).
    """
    session = writing.session
    base = base_of(session, stored, effective_from_ms, writing.now_ms)
    if ready is None or ready.base_version != base.version:
        ready = prepared(session, decoded, stored, change, base)
    published = repository.open_versions(session, stored.stream, stored.name)
    if _is_nothing_new(published, ready, change, effective_from_ms):
        return ListChanged(stored, ready, is_changed=False)
    if effective_from_ms is not None and len(published) >= MOST_SCHEDULED:
        detail = f"{len(published)} versions are published or scheduled already. Cancel some."
        raise Refusal(HTTPStatus.CONFLICT, detail)
    is_at_once = effective_from_ms is None
    scheduled = [each.version for each in published if each.effective_from_ms is not None]
    changed = ListChanged(stored, ready, is_changed=True, withdrawn=scheduled if is_at_once else ())
    if dry_run:
        return changed
    action: Action = "list.rollback" if isinstance(change, Restoration) else "list.change"
    message = f": {ready.added:,} added, {ready.removed:,} removed"
    message += _approval(writing, stored)
    _touch(writing, stored)
    epoch = _epoch(writing, stored, action, message, published[-1].version)
    if is_at_once:
        _end(published, epoch)
    version = _add_version(writing, stored, ready.content, epoch)
    version.added, version.removed = ready.added, ready.removed
    version.effective_from_ms, version.restored_version = effective_from_ms, ready.restored_version
    repository.forget_old_contents(session, stored)
    return changed


def cancel(writing: Writing, stored: StoredList, version: int) -> StoredList:
    """Take back a scheduled version; what was published before it goes on.

    Raises:
        Refusal: it is not scheduled (409), or the stream asks for approvals (403).
    """
    published = repository.open_versions(writing.session, stored.stream, stored.name)
    scheduled = [each for each in published if each.version == version]
    if not scheduled or scheduled[0].effective_from_ms is None:
        raise Refusal(HTTPStatus.CONFLICT, f"Version {version} is not scheduled.")
    approved = _approval(writing, stored)
    _touch(writing, stored)
    _end(scheduled, _epoch(writing, stored, "list.cancel", approved, version))
    repository.forget_old_contents(writing.session, stored)
    return stored


def delete(writing: Writing, stored: StoredList) -> None:
    """Take a list and its values away; the log of its versions stays.

    Raises:
        Refusal: rules that jobs are given name it (409), or the stream asks for approvals (403).
    """
    session = writing.session
    if rules := processors.rules_naming(session, stored.stream, stored.name, _NAMED_SHOWN + 1):
        names = ", ".join(f"'{each}'" for each in list(rules)[:_NAMED_SHOWN])
        more = " and others" if len(rules) > _NAMED_SHOWN else ""
        detail = (
            f"List '{stored.name}' is named by {names}{more}. Publish them without it, or delete "
            "them first; their versions that are scheduled, paused or tried count, too."
        )
        raise Refusal(HTTPStatus.CONFLICT, detail)
    approved = _approval(writing, stored)
    published = repository.open_versions(session, stored.stream, stored.name)
    _touch(writing, stored)
    _end(published, _epoch(writing, stored, "list.delete", approved, stored.latest_version))
    stored.is_deleted = True
    repository.forget_old_contents(session, stored)


def etag(stored: StoredList) -> str:
    """Return the tag of a list's state: its revision."""
    return str(stored.revision)


def _approval(writing: Writing, stored: StoredList) -> str:
    """Return who has approved a change, for the log; without approvals it may be refused (403)."""
    approved = require_approval_of_list(writing, stored.stream, stored.name)
    return f"; {approved}" if approved else ""


def _is_nothing_new(
    published: Sequence[ListVersion],
    ready: PreparedVersion,
    change: ListChange,
    effective_from_ms: int | None,
) -> bool:
    """Return whether a change would make a version that says what is so already."""
    newest = published[-1]
    is_same = newest.digest == ready.content.digest
    if is_same and newest.effective_from_ms == effective_from_ms:
        return True
    # Whoever adds what is there has no mind to take back what is scheduled.
    return isinstance(change, Edit) and not (ready.added or ready.removed)


def _add_version(
    writing: Writing, stored: StoredList, content: PackedContent, epoch: int
) -> ListVersion:
    """Add the next version, effective at once, and its content."""
    session = writing.session
    contents.store(session, stored.stream, content)
    stored.latest_version += 1
    version = ListVersion(
        stream=stored.stream,
        name=stored.name,
        version=stored.latest_version,
        data_type=stored.data_type,
        digest=content.digest,
        has_content=True,
        count=content.count,
        added=0,
        removed=0,
        effective_from_ms=None,
        from_epoch=epoch,
        until_epoch=None,
        restored_version=None,
        created_at_ms=writing.now_ms,
        created_by=writing.actor,
        comment=writing.comment,
    )
    session.add(version)
    session.flush()
    return version


def _epoch(
    writing: Writing, stored: StoredList, action: Action, told: str, old_version: int | None
) -> int:
    makes_version = action in {"list.create", "list.change", "list.rollback"}
    return record_epoch(
        writing,
        action,
        stream=stored.stream,
        old_version=old_version,
        new_version=stored.latest_version + 1 if makes_version else None,
        subject=f"{stored.name}{told}",
    )


def _end(published: Sequence[ListVersion], epoch: int) -> None:
    for version in published:
        version.until_epoch = epoch


def _touch(writing: Writing, stored: StoredList) -> None:
    stored.revision += 1
    stored.updated_at_ms = writing.now_ms
    stored.updated_by = writing.actor

"""All SQL about lists, their versions and contents."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import ColumnElement, delete, func, or_, select, update
from sqlalchemy.orm import Session

from api.list_store.tables import ListContent, ListVersion, StoredList

KEPT_VERSIONS: Final = 20
"""Of so many versions of a list the contents are kept, and of all that are in effect."""


def list_of(session: Session, stream: str, name: str) -> StoredList | None:
    """Return a list, deleted or not."""
    return session.get(StoredList, (stream, name))


def lists_after(session: Session, stream: str, name: str, limit: int) -> Sequence[StoredList]:
    """Return lists of a stream by name, starting after `name`; not those that were deleted."""
    query = (
        select(StoredList)
        .where(StoredList.stream == stream, ~StoredList.is_deleted, StoredList.name > name)
        .order_by(StoredList.name)
        .limit(limit)
    )
    return session.scalars(query).all()


def all_lists(session: Session, stream: str) -> Sequence[StoredList]:
    """Return all lists of a stream by name; not those that were deleted."""
    query = (
        select(StoredList)
        .where(StoredList.stream == stream, ~StoredList.is_deleted)
        .order_by(StoredList.name)
    )
    return session.scalars(query).all()


def count_lists(session: Session, stream: str) -> int:
    """Return how many lists a stream has."""
    query = select(func.count()).where(StoredList.stream == stream, ~StoredList.is_deleted)
    return session.scalars(query).one()


def version_of(session: Session, stream: str, name: str, version: int) -> ListVersion | None:
    """Return one version of a list."""
    return session.get(ListVersion, (stream, name, version))


def versions_below(
    session: Session, stream: str, name: str, version: int, limit: int
) -> Sequence[ListVersion]:
    """Return versions of a list, newest first, below `version`."""
    query = (
        select(ListVersion)
        .where(*_of(stream, name), ListVersion.version < version)
        .order_by(ListVersion.version.desc())
        .limit(limit)
    )
    return session.scalars(query).all()


def open_versions(session: Session, stream: str, name: str) -> Sequence[ListVersion]:
    """Return the versions of a list that jobs are given now, lowest first."""
    query = (
        select(ListVersion)
        .where(*_of(stream, name), ListVersion.until_epoch.is_(None))
        .order_by(ListVersion.version)
    )
    return session.scalars(query).all()


def open_versions_of(
    session: Session, stream: str, names: Sequence[str]
) -> dict[str, list[ListVersion]]:
    """Return the versions of some lists that jobs are given now, by list, lowest first."""
    query = (
        select(ListVersion)
        .where(
            ListVersion.stream == stream,
            ListVersion.name.in_(names),
            ListVersion.until_epoch.is_(None),
        )
        .order_by(ListVersion.version)
    )
    found: dict[str, list[ListVersion]] = {name: [] for name in names}
    for version in session.scalars(query):
        found[version.name].append(version)
    return found


def version_in_effect(session: Session, stream: str, name: str, time_ms: int) -> ListVersion | None:
    """Return the version of a list that is in effect at an event time; `None` without a list."""
    in_effect = [
        each
        for each in open_versions(session, stream, name)
        if each.effective_from_ms is None or each.effective_from_ms <= time_ms
    ]
    return in_effect[-1] if in_effect else None


def changed_epoch(session: Session, stream: str, name: str) -> int:
    """Return the epoch of the newest change of the values of a list; 0 = there was none yet."""
    query = select(func.max(ListVersion.from_epoch), func.max(ListVersion.until_epoch)).where(
        *_of(stream, name)
    )
    begun, ended = session.execute(query).one()
    return max(begun or 0, ended or 0)


def versions_at(session: Session, stream: str, epoch: int) -> Sequence[ListVersion]:
    """Return the versions of all lists of a stream at an epoch, by name and version."""
    query = (
        select(ListVersion)
        .where(
            ListVersion.stream == stream,
            ListVersion.from_epoch <= epoch,
            or_(ListVersion.until_epoch.is_(None), ListVersion.until_epoch > epoch),
        )
        .order_by(ListVersion.name, ListVersion.version)
    )
    return session.scalars(query).all()


def content_of(session: Session, stream: str, digest: str) -> ListContent | None:
    """Return a content that a version of a list of the stream has, or had until lately."""
    return session.get(ListContent, (stream, digest))


def served_content(session: Session, stream: str, digest: str) -> ListContent | None:
    """Return a content that some version of a list of the stream has."""
    query = (
        select(ListVersion.version)
        .where(ListVersion.stream == stream, ListVersion.digest == digest, ListVersion.has_content)
        .limit(1)
    )
    return None if session.scalar(query) is None else content_of(session, stream, digest)


def has_content(session: Session, stream: str, digest: str) -> bool:
    """Return whether a content is stored."""
    query = select(ListContent.digest).where(
        ListContent.stream == stream, ListContent.digest == digest
    )
    return session.scalar(query) is not None


def forget_old_contents(session: Session, stored: StoredList) -> None:
    """Remove contents of a list that are in effect no longer and of none of its last versions.

    Of a deleted list all are removed.
    """
    oldest_kept = stored.latest_version - KEPT_VERSIONS
    is_old = [] if stored.is_deleted else [ListVersion.version <= oldest_kept]
    session.flush()
    session.execute(
        update(ListVersion)
        .where(
            *_of(stored.stream, stored.name),
            ListVersion.has_content,
            ListVersion.until_epoch.is_not(None),
            *is_old,
        )
        .values(has_content=False)
    )
    needed = select(ListVersion.digest).where(
        ListVersion.stream == stored.stream, ListVersion.has_content
    )
    session.execute(
        delete(ListContent).where(
            ListContent.stream == stored.stream, ListContent.digest.not_in(needed)
        ),
        execution_options={"synchronize_session": False},
    )


def counts_in_effect(session: Session) -> list[tuple[str, str, int]]:
    """Return stream, list and how many values its newest version has that jobs are given."""
    newest = (
        select(ListVersion.stream, ListVersion.name, func.max(ListVersion.version).label("version"))
        .where(ListVersion.until_epoch.is_(None))
        .group_by(ListVersion.stream, ListVersion.name)
        .subquery()
    )
    query = (
        select(ListVersion.stream, ListVersion.name, ListVersion.count)
        .join(
            newest,
            (ListVersion.stream == newest.c.stream)
            & (ListVersion.name == newest.c.name)
            & (ListVersion.version == newest.c.version),
        )
        .order_by(ListVersion.stream, ListVersion.name)
    )
    return [(stream, name, count) for stream, name, count in session.execute(query)]


def latest_versions(session: Session) -> list[tuple[str, str, int]]:
    """Return stream, list and how many versions it has had."""
    query = (
        select(StoredList.stream, StoredList.name, StoredList.latest_version)
        .where(~StoredList.is_deleted)
        .order_by(StoredList.stream, StoredList.name)
    )
    return [(stream, name, version) for stream, name, version in session.execute(query)]


def _of(stream: str, name: str) -> tuple[ColumnElement[bool], ...]:
    return ListVersion.stream == stream, ListVersion.name == name

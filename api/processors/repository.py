"""All SQL about processors, their versions and publications."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Select, and_, case, delete, exists, func, or_, select, tuple_
from sqlalchemy.orm import InstrumentedAttribute, Session

from api.processors.filters import ProcessorFilter, Sort
from api.processors.tables import (
    ListUse,
    Processor,
    ProcessorTag,
    ProcessorVersion,
    Publication,
)
from api.store.confinement import ALL_STREAMS
from contract.service.processors import DELETED, PUBLISHED, SCHEDULED


@dataclass(frozen=True, slots=True)
class After:
    """The start of a page: after the processor with this sort value and id."""

    value: str | int
    id: str


def processor_of(session: Session, processor_id: str) -> Processor | None:
    """Return a processor, deleted or not."""
    return session.get(Processor, processor_id)


def is_id_taken(session: Session, processor_id: str) -> bool:
    """Return whether there is a processor of this id, of whatever stream, deleted or not."""
    query = select(exists(select(Processor.id).where(Processor.id == processor_id)))
    return bool(session.scalar(query, execution_options=ALL_STREAMS))


def version_of(session: Session, processor_id: str, version: int) -> ProcessorVersion | None:
    """Return one version of a processor."""
    return session.get(ProcessorVersion, (processor_id, version))


def versions_of(
    session: Session, processor_id: str, versions: Collection[int]
) -> Sequence[ProcessorVersion]:
    """Return those of these versions that a processor has, lowest first."""
    query = (
        select(ProcessorVersion)
        .where(
            ProcessorVersion.processor_id == processor_id, ProcessorVersion.version.in_(versions)
        )
        .order_by(ProcessorVersion.version)
    )
    return session.scalars(query).all()


def versions_below(
    session: Session, processor_id: str, version: int, limit: int
) -> Sequence[ProcessorVersion]:
    """Return versions of a processor, newest first, below `version`."""
    query = (
        select(ProcessorVersion)
        .where(ProcessorVersion.processor_id == processor_id, ProcessorVersion.version < version)
        .order_by(ProcessorVersion.version.desc())
        .limit(limit)
    )
    return session.scalars(query).all()


def open_publications(session: Session, processor_id: str) -> Sequence[Publication]:
    """Return the current publications of a processor, lowest version first; not its rollout."""
    everything = all_open_publications(session, processor_id)
    return [publication for publication in everything if publication.share is None]


def open_rollout(session: Session, processor_id: str) -> Publication | None:
    """Return the current publication of the version that is tried, if there is one."""
    everything = all_open_publications(session, processor_id)
    return next((each for each in everything if each.share is not None), None)


def only_tried(session: Session, processor_id: str) -> frozenset[int]:
    """Return the versions that have been a shadow or a canary, and never published to all keys."""
    found = session.execute(
        select(Publication.version)
        .where(Publication.processor_id == processor_id)
        .group_by(Publication.version)
        .having(func.count() == func.count(Publication.share))
    )
    return frozenset(found.scalars())


def all_open_publications(session: Session, processor_id: str) -> Sequence[Publication]:
    """Return the current publications of a processor and its rollout, lowest version first."""
    query = (
        select(Publication)
        .where(Publication.processor_id == processor_id, Publication.until_epoch.is_(None))
        .order_by(Publication.version)
    )
    return session.scalars(query).all()


def changed_epochs(session: Session, processor_ids: Collection[str]) -> dict[str, int]:
    """Return the epoch of the newest change of what runs of processors, by id; 0 = none yet."""
    query = (
        select(
            Publication.processor_id,
            func.max(Publication.from_epoch),
            func.max(Publication.until_epoch),
        )
        .where(Publication.processor_id.in_(processor_ids))
        .group_by(Publication.processor_id)
    )
    found = {name: max(begun, ended or 0) for name, begun, ended in session.execute(query)}
    return {name: found.get(name, 0) for name in processor_ids}


def live_versions(session: Session, stream: str) -> Sequence[ProcessorVersion]:
    """Return every version published on a stream now, by processor and version."""
    query = (
        select(ProcessorVersion)
        .join(
            Publication,
            (ProcessorVersion.processor_id == Publication.processor_id)
            & (ProcessorVersion.version == Publication.version),
        )
        .where(Publication.stream == stream, Publication.until_epoch.is_(None))
        .order_by(ProcessorVersion.processor_id, ProcessorVersion.version)
    )
    return session.scalars(query).all()


def others_with_rule(
    session: Session, rule_hash: str, processor_id: str, limit: int = 3
) -> Sequence[str]:
    """Return ids of other processors that publish the same rule."""
    query = (
        select(Publication.processor_id)
        .join(
            ProcessorVersion,
            (ProcessorVersion.processor_id == Publication.processor_id)
            & (ProcessorVersion.version == Publication.version),
        )
        .where(
            ProcessorVersion.rule_hash == rule_hash,
            Publication.processor_id != processor_id,
            Publication.until_epoch.is_(None),
        )
        .distinct()
        .order_by(Publication.processor_id)
        .limit(limit)
    )
    return session.scalars(query).all()


def ids_in_other_case(session: Session, processor_id: str) -> Sequence[str]:
    """Return ids of processors, deleted ones aside, that differ from this in capitals alone."""
    is_alike = func.lower(Processor.id) == processor_id.lower()
    query = select(Processor.id).where(is_alike, Processor.id != processor_id)
    return session.scalars(query.where(Processor.state != DELETED).order_by(Processor.id)).all()


def uses_of(session: Session, processor_id: str, version: int) -> Sequence[ListUse]:
    """Return which lists a version of a processor names."""
    query = (
        select(ListUse)
        .where(ListUse.processor_id == processor_id, ListUse.version == version)
        .order_by(ListUse.name)
    )
    return session.scalars(query).all()


def rules_naming(session: Session, stream: str, name: str, limit: int) -> dict[str, list[int]]:
    """Return processors that name a list, by id, with those of their published versions that do.

    Versions that are scheduled, paused or only tried are published, too.

    Args:
        session: the transaction.
        stream: whose list it is.
        name: the list.
        limit: at most so many processors.
    """
    ids = _publications_naming(stream, name).with_only_columns(Publication.processor_id).distinct()
    first = session.scalars(ids.order_by(Publication.processor_id).limit(limit)).all()
    query = _publications_naming(stream, name).where(Publication.processor_id.in_(first))
    found: dict[str, list[int]] = {processor_id: [] for processor_id in first}
    for publication in session.scalars(query.order_by(Publication.version)):
        found[publication.processor_id].append(publication.version)
    return found


def count_rules_naming(session: Session, stream: str) -> dict[str, int]:
    """Return how many processors name each list of a stream, as `rules_naming`; without 0."""
    query = (
        select(ListUse.name, func.count(Publication.processor_id.distinct()))
        .join(
            Publication,
            (ListUse.processor_id == Publication.processor_id)
            & (ListUse.version == Publication.version),
        )
        .where(Publication.stream == stream, Publication.until_epoch.is_(None))
        .group_by(ListUse.name)
    )
    return {name: count for name, count in session.execute(query)}  # noqa: C416 - rows are no pairs


def _publications_naming(stream: str, name: str) -> Select[Publication]:
    return (
        select(Publication)
        .join(
            ListUse,
            (ListUse.processor_id == Publication.processor_id)
            & (ListUse.version == Publication.version),
        )
        .where(
            ListUse.name == name,
            Publication.stream == stream,
            Publication.until_epoch.is_(None),
        )
    )


def tags_of(session: Session, processor_ids: Sequence[str]) -> dict[str, list[str]]:
    """Return the tags of processors, in order, by id."""
    tags: dict[str, list[str]] = {processor_id: [] for processor_id in processor_ids}
    query = (
        select(ProcessorTag.processor_id, ProcessorTag.tag)
        .where(ProcessorTag.processor_id.in_(processor_ids))
        .order_by(ProcessorTag.tag)
    )
    for processor_id, tag in session.execute(query):
        tags[processor_id].append(tag)
    return tags


def set_tags(session: Session, processor_id: str, tags: Sequence[str]) -> None:
    """Replace the tags of a processor."""
    session.execute(delete(ProcessorTag).where(ProcessorTag.processor_id == processor_id))
    session.add_all(ProcessorTag(processor_id=processor_id, tag=tag) for tag in sorted(set(tags)))


def find_processors(  # noqa: PLR0913, PLR0917 - the parts of a list
    session: Session,
    wanted: ProcessorFilter,
    sort: Sort,
    after: After | None,
    limit: int,
    now_ms: int = 0,
) -> Sequence[Processor]:
    """Return processors that meet a filter, in order, after `after`; states are those at a time."""
    column = sort_column(sort)
    position = tuple_(column, Processor.id)
    query = select(Processor).where(*conditions(wanted, now_ms)).limit(limit)
    if after is not None:
        behind = tuple_(after.value, after.id)
        query = query.where(position < behind if sort.is_descending else position > behind)
    order = (column.desc(), Processor.id.desc()) if sort.is_descending else (column, Processor.id)
    return session.scalars(query.order_by(*order)).all()


def sort_column(sort: Sort) -> InstrumentedAttribute[str] | InstrumentedAttribute[int]:
    """Return the column a list is sorted by."""
    match sort.field:
        case "created_at":
            return Processor.created_at_ms
        case "updated_at":
            return Processor.updated_at_ms
        case "owner":
            return Processor.owner
        case _:
            return Processor.id


def state_at(now_ms: int) -> ColumnElement[str]:
    """Return the column of the state that a processor has at a time, see `views.state_at`."""
    is_scheduled = and_(Processor.state == PUBLISHED, Processor.begins_ms > now_ms)
    return case((is_scheduled, SCHEDULED), else_=Processor.state)


def conditions(wanted: ProcessorFilter, now_ms: int = 0) -> list[ColumnElement[bool]]:
    """Return the conditions of a filter; states are those at a time."""
    found: list[ColumnElement[bool]] = []
    if wanted.stream is not None:
        found.append(Processor.stream == wanted.stream)
    if wanted.state is None:
        found.append(Processor.state != DELETED)
    else:
        found.append(state_at(now_ms) == wanted.state)
    if wanted.tag is not None:
        found.append(has_tag(wanted.tag))
    if wanted.owner is not None:
        found.append(Processor.owner == wanted.owner)
    if wanted.problem is not None:
        found.append(
            Processor.warning_count > 0 if wanted.problem else Processor.warning_count == 0
        )
    if wanted.text:
        found.append(_contains_text(wanted.text.lower()))
    return found


def has_tag(tag: str) -> ColumnElement[bool]:
    """Return the condition that a processor has a tag."""
    return Processor.id.in_(select(ProcessorTag.processor_id).where(ProcessorTag.tag == tag))


def _contains_text(text: str) -> ColumnElement[bool]:
    latest_definition = (
        select(ProcessorVersion.definition)
        .where(
            ProcessorVersion.processor_id == Processor.id,
            ProcessorVersion.version == Processor.current_version,
        )
        .scalar_subquery()
    )
    return or_(
        func.lower(Processor.id).contains(text, autoescape=True),
        func.lower(Processor.description).contains(text, autoescape=True),
        func.lower(latest_definition).contains(text, autoescape=True),
    )

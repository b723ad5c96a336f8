"""All SQL that reads and writes matches; what people have made of each comes with it."""

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, delete, exists, func, select, tuple_
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import InstrumentedAttribute, Session, contains_eager, defer
from sqlalchemy.orm.interfaces import LoaderOption

from api.matches.filters import MatchFilter
from api.matches.tables import Match, MatchLog, MatchTriage
from contract.service.matches import OPEN

FORGOTTEN_AT_ONCE: Final = 2_000
"""So many old rows a change removes at most: more than it adds, and no work for long.

Where a limit has been lowered, each change removes some until it is kept.
"""


def locked_log(session: Session, stream: str) -> MatchLog | None:
    """Return the counter of a stream's matches, locked until this transaction ends."""
    return session.scalar(select(MatchLog).where(MatchLog.stream == stream).with_for_update())


def begin_log(session: Session, stream: str) -> None:
    """Add the counter of a stream's matches, unless another writer does so at the same moment."""
    with contextlib.suppress(IntegrityError), session.begin_nested():
        session.add(MatchLog(stream=stream, newest=0))


def newest_number(session: Session, stream: str) -> int:
    """Return the number of the newest match of a stream; 0 if there was none."""
    return session.scalar(select(MatchLog.newest).where(MatchLog.stream == stream)) or 0


def newest_change(session: Session, stream: str) -> int:
    """Return the number of the newest change of triage on a stream; 0 if there was none."""
    return session.scalar(select(MatchLog.newest_change).where(MatchLog.stream == stream)) or 0


def known_ids(session: Session, stream: str, match_ids: Iterable[str]) -> set[str]:
    """Return the matches among these that a stream already has."""
    query = select(Match.match_id).where(Match.stream == stream, Match.match_id.in_(match_ids))
    return set(session.scalars(query))


def match_of(session: Session, stream: str, match_id: str) -> Match | None:
    """Return a match."""
    return session.scalar(_matches(stream).where(Match.match_id == match_id))


def matches_of(session: Session, stream: str, match_ids: Iterable[str]) -> Sequence[Match]:
    """Return those of these matches that a stream has, in any order; without output and events."""
    query = _matches(stream).where(Match.match_id.in_(match_ids))
    return session.scalars(query.options(_without(Match.events), _without(Match.output))).all()


def matches_below(
    session: Session, stream: str, wanted: MatchFilter, number: int, limit: int
) -> Sequence[Match]:
    """Return matches that meet a filter, newest first, below a number; without events."""
    query = (
        _matches(stream)
        .where(Match.number < number, *_conditions(wanted))
        .order_by(Match.number.desc())
        .limit(limit)
        .options(_without(Match.events))
    )
    return session.scalars(query).all()


def matches_by_end(  # noqa: PLR0913 - a place in one stream, and a filter
    session: Session,
    stream: str,
    wanted: MatchFilter,
    after: tuple[int, int] | None,
    limit: int,
    *,
    is_descending: bool,
) -> Sequence[Match]:
    """Return matches that meet a filter by (end, number), behind such a pair; without events."""
    place = tuple_(Match.end_ms, Match.number)
    order = (Match.end_ms.desc(), Match.number.desc())
    query = _matches(stream).where(*_conditions(wanted))
    if after is not None:
        query = query.where(place < after if is_descending else place > after)
    query = query.order_by(*(order if is_descending else (Match.end_ms, Match.number)))
    return session.scalars(query.limit(limit).options(_without(Match.events))).all()


def ends(session: Session, stream: str, wanted: MatchFilter) -> tuple[int, int | None, int | None]:
    """Return how many matches meet a filter, and the earliest and latest end, in ms."""
    columns = func.count(), func.min(Match.end_ms), func.max(Match.end_ms)
    total, first, last = session.execute(_counted(stream, wanted, *columns)).one()
    return total, first, last


def ends_by_bucket(
    session: Session, stream: str, wanted: MatchFilter, bucket_ms: int
) -> dict[int, int]:
    """Return how many matches ended in each bucket, by its number: end // length."""
    # In SQL the remainder of a time before 1970 is negative.
    into_bucket = (Match.end_ms % bucket_ms + bucket_ms) % bucket_ms
    bucket = (Match.end_ms - into_bucket).label("bucket")
    rows = session.execute(_counted(stream, wanted, bucket, func.count()).group_by(bucket))
    return {start // bucket_ms: count for start, count in rows}


def most_frequent(
    session: Session,
    stream: str,
    wanted: MatchFilter,
    column: InstrumentedAttribute[str],
    limit: int,
) -> list[tuple[str, int]]:
    """Return the most frequent values of a column, and how often each is there."""
    counted = func.count().label("counted")
    query = _counted(stream, wanted, column, counted).group_by(column)
    rows = session.execute(query.order_by(counted.desc(), column).limit(limit))
    return [(value, count) for value, count in rows]


def matches_between(  # noqa: PLR0913, PLR0917 - an interval of one stream, and a filter
    session: Session, stream: str, wanted: MatchFilter, after: int, last: int, limit: int
) -> Sequence[Match]:
    """Return matches that meet a filter in `(after, last]`, oldest first; without events."""
    query = (
        _matches(stream)
        .where(Match.number > after, Match.number <= last, *_conditions(wanted))
        .order_by(Match.number)
        .limit(limit)
        .options(_without(Match.events))
    )
    return session.scalars(query).all()


def matches_changed(  # noqa: PLR0913, PLR0917 - an interval of one stream, and a filter
    session: Session, stream: str, wanted: MatchFilter, after: int, last: int, limit: int
) -> Sequence[Match]:
    """Return matches whose triage was changed in `(after, last]`, oldest change first.

    Those that met the filter before a change of status or assignee are told of it, too.
    """
    query = (
        _matches(stream)
        .where(
            MatchTriage.change > after,
            MatchTriage.change <= last,
            *_conditions(replace(wanted, status=None, assignee=None, unassigned=None)),
        )
        .order_by(MatchTriage.change)
        .limit(limit)
        .options(_without(Match.events))
    )
    return session.scalars(query).all()


def matches_regrouped(  # noqa: PLR0913, PLR0917 - an interval of one stream, and a filter
    session: Session, stream: str, wanted: MatchFilter, after: int, last: int, limit: int
) -> Sequence[Match]:
    """Return matches of which it was told in `(after, last]` what they stand for, oldest first.

    They meet the filter, and come without events.
    """
    query = (
        _matches(stream)
        .where(Match.group_change > after, Match.group_change <= last, *_conditions(wanted))
        .order_by(Match.group_change)
        .limit(limit)
        .options(_without(Match.events))
    )
    return session.scalars(query).all()


def forget_up_to(session: Session, stream: str, number: int, most: int) -> int:
    """Remove the oldest matches of a stream up to a number, and return how many."""
    return _forget_oldest(session, stream, most, Match.number <= number)


def forget_all_but(  # noqa: PLR0913, PLR0917 - rows of one kind of one processor
    session: Session, stream: str, processor_id: str, kind: str, kept: int, most: int
) -> int:
    """Remove the oldest rows of one kind of a processor except the newest; return how many."""
    of_processor = Match.processor_id == processor_id, Match.kind == kind
    newest_forgotten = (
        select(Match.number)
        .where(Match.stream == stream, *of_processor)
        .order_by(Match.number.desc())
        .limit(1)
        .offset(kept)
        .scalar_subquery()
    )
    return _forget_oldest(session, stream, most, *of_processor, Match.number <= newest_forgotten)


def forget_old_triage(session: Session, stream: str, before_ms: int) -> None:
    """Remove the triage of removed matches that was last changed before a time."""
    _forget_triage(session, stream, MatchTriage.changed_at_ms < before_ms)


def forget_triage_but(session: Session, stream: str, processor_id: str, kept: int) -> None:
    """Remove the triage of removed matches of a processor except the newest that it has."""
    query = (
        select(MatchTriage.change)
        .where(MatchTriage.stream == stream, MatchTriage.processor_id == processor_id)
        .order_by(MatchTriage.change.desc())
        .limit(1)
        .offset(kept)
    )
    newest = session.scalar(query)
    if newest is not None:
        of_processor = MatchTriage.processor_id == processor_id
        _forget_triage(session, stream, of_processor, MatchTriage.change <= newest)


def is_kept() -> ColumnElement[bool]:
    """Return the condition that the match of a triage has not been removed."""
    of_triage = Match.stream == MatchTriage.stream, Match.match_id == MatchTriage.match_id
    return exists().where(*of_triage)


def _forget_oldest(
    session: Session, stream: str, most: int, *conditions: ColumnElement[bool]
) -> int:
    oldest = select(Match.number).where(Match.stream == stream, *conditions)
    forgotten = session.scalars(
        delete(Match)
        .where(Match.stream == stream, Match.number.in_(oldest.order_by(Match.number).limit(most)))
        .returning(Match.number),
        execution_options={"synchronize_session": False},
    )
    return len(forgotten.all())


def _forget_triage(session: Session, stream: str, *conditions: ColumnElement[bool]) -> None:
    oldest = (
        select(MatchTriage.match_id)
        .where(MatchTriage.stream == stream, *conditions, ~is_kept())
        .order_by(MatchTriage.changed_at_ms)
        .limit(FORGOTTEN_AT_ONCE)
    )
    session.execute(
        delete(MatchTriage).where(MatchTriage.stream == stream, MatchTriage.match_id.in_(oldest)),
        execution_options={"synchronize_session": False},
    )


def _matches(stream: str) -> Select[Match]:
    query = select(Match).where(Match.stream == stream)
    return query.outerjoin(Match.triage).options(contains_eager(Match.triage))


def _counted(stream: str, wanted: MatchFilter, *columns: Any) -> Select[Any]:
    query = select(*columns).select_from(Match).where(Match.stream == stream, *_conditions(wanted))
    return query.outerjoin(Match.triage)


def _without(column: InstrumentedAttribute[str]) -> LoaderOption:
    return defer(column, raiseload=True)


def _conditions(wanted: MatchFilter) -> list[ColumnElement[bool]]:
    columns = (
        (Match.processor_id, wanted.processor),
        (Match.version, wanted.version),
        (Match.job, wanted.job),
        (Match.kind, wanted.kind),
        (Match.key_text, wanted.key),
        (Match.group_id, wanted.group),
    )
    found: list[ColumnElement[bool]] = [
        column == value for column, value in columns if value is not None
    ]
    if wanted.kind is None:
        found.append(Match.kind.not_in(("shadow", "suppressed", "grouped")))
    if wanted.key_prefix:
        found.append(Match.key_text.startswith(wanted.key_prefix, autoescape=True))
    if wanted.since is not None:
        found.append(Match.end_ms >= wanted.since)
    if wanted.until is not None:
        found.append(Match.end_ms < wanted.until)
    if wanted.text:
        found.append(func.lower(Match.output).contains(wanted.text.lower(), autoescape=True))
    if wanted.status is not None:
        is_untouched_or_open = func.coalesce(MatchTriage.status, OPEN) == OPEN
        is_so = MatchTriage.status == wanted.status
        found.append(is_untouched_or_open if wanted.status == OPEN else is_so)
    if wanted.assignee is not None:
        found.append(MatchTriage.assignee == wanted.assignee)
    if wanted.unassigned is not None:
        is_nobodys = func.coalesce(MatchTriage.assignee, "") == ""
        found.append(is_nobodys if wanted.unassigned else ~is_nobodys)
    return found

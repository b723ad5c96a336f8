"""All SQL about matches."""

import contextlib
from collections.abc import Iterable, Sequence

from sqlalchemy import ColumnElement, delete, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, defer

from api.matches.schemas import MatchFilter
from api.matches.tables import Match, MatchLog


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


def known_ids(session: Session, stream: str, match_ids: Iterable[str]) -> set[str]:
    """Return the matches among these that a stream already has."""
    query = select(Match.match_id).where(Match.stream == stream, Match.match_id.in_(match_ids))
    return set(session.scalars(query))


def match_of(session: Session, stream: str, match_id: str) -> Match | None:
    """Return a match."""
    query = select(Match).where(Match.stream == stream, Match.match_id == match_id)
    return session.scalar(query)


def matches_below(
    session: Session, stream: str, wanted: MatchFilter, number: int, limit: int
) -> Sequence[Match]:
    """Return matches that meet a filter, newest first, below a number; without events."""
    query = (
        select(Match)
        .where(Match.stream == stream, Match.number < number, *_conditions(wanted))
        .order_by(Match.number.desc())
        .limit(limit)
        .options(defer(Match.events, raiseload=True))
    )
    return session.scalars(query).all()


def matches_between(  # noqa: PLR0913, PLR0917 - an interval of one stream, and a filter
    session: Session, stream: str, wanted: MatchFilter, after: int, last: int, limit: int
) -> Sequence[Match]:
    """Return matches that meet a filter in `(after, last]`, oldest first; without events."""
    query = (
        select(Match)
        .where(
            Match.stream == stream,
            Match.number > after,
            Match.number <= last,
            *_conditions(wanted),
        )
        .order_by(Match.number)
        .limit(limit)
        .options(defer(Match.events, raiseload=True))
    )
    return session.scalars(query).all()


def forget_up_to(session: Session, stream: str, number: int) -> None:
    """Remove the matches of a stream up to a number."""
    session.execute(delete(Match).where(Match.stream == stream, Match.number <= number))


def forget_all_but(session: Session, stream: str, processor_id: str, kind: str, kept: int) -> None:
    """Remove the rows of one kind of a processor except the newest ones."""
    of_processor = (
        Match.stream == stream,
        Match.processor_id == processor_id,
        Match.kind == kind,
    )
    newest_forgotten = (
        select(Match.number)
        .where(*of_processor)
        .order_by(Match.number.desc())
        .limit(1)
        .offset(kept)
        .scalar_subquery()
    )
    session.execute(
        delete(Match).where(*of_processor, Match.number <= newest_forgotten),
        execution_options={"synchronize_session": False},
    )


def _conditions(wanted: MatchFilter) -> list[ColumnElement[bool]]:
    columns = (
        (Match.processor_id, wanted.processor),
        (Match.version, wanted.version),
        (Match.job, wanted.job),
        (Match.kind, wanted.kind),
        (Match.key_text, wanted.key),
    )
    found: list[ColumnElement[bool]] = [
        column == value for column, value in columns if value is not None
    ]
    if wanted.kind is None:
        found.append(Match.kind != "shadow")
    if wanted.since is not None:
        found.append(Match.end_ms >= wanted.since)
    if wanted.until is not None:
        found.append(Match.end_ms < wanted.until)
    if wanted.text:
        found.append(func.lower(Match.output).contains(wanted.text.lower(), autoescape=True))
    return found

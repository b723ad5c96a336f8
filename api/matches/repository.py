"""All SQL that reads and writes matches; what people have made of each comes with it."""

import contextlib
import time
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from sqlalchemy import ColumnElement, Row, Select, delete, exists, func, select, tuple_
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import InstrumentedAttribute, Session, contains_eager, defer
from sqlalchemy.orm.interfaces import LoaderOption

from api.matches.counting import OfRule, Tally
from api.matches.filters import MatchFilter, MatchSort
from api.matches.tables import Match, MatchCount, MatchLog, MatchTriage
from contract.service.matches import OPEN

Place = tuple[int, ...]
"""The values of a match that a list is sorted by."""
SEARCHED_AT_ONCE: Final = 20_000
SEARCH_SECONDS: Final = 0.3
COUNT_SECONDS: Final = 0.3
FORGOTTEN_AT_ONCE: Final = 1_000
"""So many old rows a change removes at most: more than it adds, and no work for long.

Where a limit has been lowered, each change removes some until it is kept.
"""

_COUNTED_BY: Final = MatchTriage.processor_id, MatchTriage.kind, MatchTriage.version


@dataclass(slots=True)
class Counts:
    """The matches that were counted: when each ended, and how many each rule and each key has.

    `is_partial` is whether there are more.
    """

    ends_ms: "array[int]" = field(default_factory=lambda: array("q"))
    processors: Counter[str] = field(default_factory=Counter)
    keys: Counter[str] = field(default_factory=Counter)
    is_partial: bool = False

    def add(self, rows: Iterable[Row[int, str, str]]) -> None:
        """Count matches, of each its end, its rule and its key."""
        for end_ms, processor_id, key_text in rows:
            self.ends_ms.append(end_ms)
            self.processors[processor_id] += 1
            self.keys[key_text] += 1


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


def matches_found(  # noqa: PLR0913, PLR0917 - a place in an ordered list, and a filter
    session: Session,
    stream: str,
    wanted: MatchFilter,
    sort: MatchSort,
    after: Place | None,
    limit: int,
) -> tuple[list[Match], Place | None]:
    """Return matches that meet a filter, in an order, behind a place in it; without events.

    They are looked for a part at a time, and no longer than `SEARCH_SECONDS`.

    Returns:
        At most `limit` of them, and behind which place there may be more, if there may be.
    """
    columns = _columns(sort)
    order = [column.desc() for column in columns] if sort.is_descending else columns
    query = _matches(stream).where(*_conditions(wanted)).order_by(*order)
    query = query.options(_without(Match.events))
    ends_at = time.monotonic() + SEARCH_SECONDS
    found: list[Match] = []
    while True:
        part = [] if after is None else [_is_behind(sort, after)]
        last = _searched_to(session, stream, wanted, sort, after)
        if last is not None:
            part.append(~_is_behind(sort, last))
        # One more than wanted tells whether there are more.
        found += session.scalars(query.where(*part).limit(limit + 1 - len(found)))
        if len(found) > limit:
            return found[:limit], place_of(found[limit - 1], sort)
        if last is None:
            return found, None
        after = last
        if time.monotonic() >= ends_at:
            return found, after


def place_of(match: Match, sort: MatchSort) -> Place:
    """Return the place of a match in an order."""
    return (match.end_ms, match.number) if sort.field == "end" else (match.number,)


def _searched_to(
    session: Session, stream: str, wanted: MatchFilter, sort: MatchSort, after: Place | None
) -> Place | None:
    """Return the last place of the next part of a search; `None` if the rest is one part."""
    found_by_index = MatchFilter(processor=wanted.processor, key=wanted.key)
    columns = _columns(sort)
    order = [column.desc() for column in columns] if sort.is_descending else columns
    query = select(*columns).where(Match.stream == stream, *_equal(found_by_index))
    query = query.order_by(*order)
    if after is not None:
        query = query.where(_is_behind(sort, after))
    found = session.execute(query.offset(SEARCHED_AT_ONCE - 1).limit(1)).first()
    return None if found is None else tuple(found)


def _columns(sort: MatchSort) -> tuple[InstrumentedAttribute[int], ...]:
    return (Match.end_ms, Match.number) if sort.field == "end" else (Match.number,)


def _is_behind(sort: MatchSort, place: Place) -> ColumnElement[bool]:
    columns = tuple_(*_columns(sort))
    return columns < place if sort.is_descending else columns > place


def counts_of(session: Session, stream: str, wanted: MatchFilter) -> Counts:
    """Return how many matches meet a filter, by rule and by key, and when they ended.

    They are read a part at a time, the newest first, and no longer than `COUNT_SECONDS`.
    """
    sort = MatchSort.ARRIVAL_DESCENDING
    columns = Match.end_ms, Match.processor_id, Match.key_text
    ends_at = time.monotonic() + COUNT_SECONDS
    after: Place | None = None
    counts = Counts()
    while True:
        last = _searched_to(session, stream, wanted, sort, after)
        part = [] if after is None else [_is_behind(sort, after)]
        if last is not None:
            part.append(~_is_behind(sort, last))
        query = select(*columns).select_from(Match).outerjoin(Match.triage)
        query = query.where(Match.stream == stream, *_conditions(wanted), *part)
        counts.add(session.execute(query))
        counts.is_partial = last is not None
        if last is None or time.monotonic() >= ends_at:
            return counts
        after = last


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


def forget_all_but(
    session: Session, stream: str, processor_ids: Collection[str], kept: int, most: int
) -> None:
    """Remove the oldest rows of each kind of each of some processors, `most` in all.

    By kind: matches of a rule must not be removed because of its many timeouts.
    """
    present = func.sum(MatchCount.present)
    query = (
        select(MatchCount.processor_id, MatchCount.kind, present)
        .where(MatchCount.stream == stream, MatchCount.processor_id.in_(processor_ids))
        .group_by(MatchCount.processor_id, MatchCount.kind)
        .having(present > kept)
        .order_by(MatchCount.processor_id, MatchCount.kind)
    )
    for processor_id, kind, number in session.execute(query).all():
        if most > 0:
            of_processor = Match.processor_id == processor_id, Match.kind == kind
            surplus = min(int(number) - kept, most)
            most -= _forget_oldest(session, stream, surplus, *of_processor)


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


def count_added(session: Session, stream: str, added: Sequence[Match]) -> None:
    """Count matches that are new, or that were removed and are there again."""
    tally = Tally()
    for match, status in _with_statuses(session, stream, added):
        tally.add(match, status)
    tally.save(session, stream)


def _with_statuses(
    session: Session, stream: str, found: Sequence[Match] | Sequence[Row[str, str, str, int]]
) -> Iterator[tuple[OfRule, str]]:
    """Yield matches with their status; in place of those that were decided, what was decided."""
    match_ids = [match.match_id for match in found]
    query = select(MatchTriage.match_id, *_COUNTED_BY, MatchTriage.status)
    of_these = MatchTriage.stream == stream, MatchTriage.match_id.in_(match_ids)
    decided = session.execute(query.where(*of_these, MatchTriage.status != OPEN))
    decisions = {row.match_id: row for row in decided}
    for match in found:
        decision = decisions.get(match.match_id)
        yield (match, OPEN) if decision is None else (decision, decision.status)


def _forget_oldest(
    session: Session, stream: str, most: int, *conditions: ColumnElement[bool]
) -> int:
    oldest = select(Match.number).where(Match.stream == stream, *conditions)
    removed = session.execute(
        delete(Match)
        .where(Match.stream == stream, Match.number.in_(oldest.order_by(Match.number).limit(most)))
        .returning(Match.match_id, Match.processor_id, Match.kind, Match.version),
        execution_options={"synchronize_session": False},
    ).all()
    if removed:
        tally = Tally()
        for match, status in _with_statuses(session, stream, removed):
            tally.remove(match, status)
        tally.save(session, stream)
    return len(removed)


def _forget_triage(session: Session, stream: str, *conditions: ColumnElement[bool]) -> None:
    oldest = (
        select(MatchTriage.match_id)
        .where(MatchTriage.stream == stream, *conditions, ~is_kept())
        .order_by(MatchTriage.changed_at_ms)
        .limit(FORGOTTEN_AT_ONCE)
    )
    forgotten = session.execute(
        delete(MatchTriage)
        .where(MatchTriage.stream == stream, MatchTriage.match_id.in_(oldest))
        .returning(*_COUNTED_BY, MatchTriage.status),
        execution_options={"synchronize_session": False},
    ).all()
    tally = Tally()
    for triage in forgotten:
        tally.forget(triage, triage.status)
    tally.save(session, stream)


def _matches(stream: str) -> Select[Match]:
    query = select(Match).where(Match.stream == stream)
    return query.outerjoin(Match.triage).options(contains_eager(Match.triage))


def _without(column: InstrumentedAttribute[str]) -> LoaderOption:
    return defer(column, raiseload=True)


def _equal(wanted: MatchFilter) -> list[ColumnElement[bool]]:
    columns = (
        (Match.processor_id, wanted.processor),
        (Match.version, wanted.version),
        (Match.job, wanted.job),
        (Match.kind, wanted.kind),
        (Match.key_text, wanted.key),
        (Match.group_id, wanted.group),
    )
    return [column == value for column, value in columns if value is not None]


def _conditions(wanted: MatchFilter) -> list[ColumnElement[bool]]:
    found = _equal(wanted)
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

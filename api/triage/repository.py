"""All SQL about triage: of single matches, counted per rule, and in the order of event time."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from itertools import groupby, islice
from typing import Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    FromClause,
    case,
    cast,
    desc,
    func,
    select,
    tuple_,
)
from sqlalchemy.orm import Session

from api.matches.repository import is_kept
from api.matches.tables import Match, MatchNote, MatchTriage
from api.triage.filters import CountFilter, LabelFilter
from contract.service.matches import OPEN

COUNTED: Final = CountFilter()
PARTS: Final = 1_000_000

_KINDS: Final = ("match", "timeout")
_MOST_ASSIGNEES: Final = 200


def triage_of(session: Session, stream: str, match_ids: Iterable[str]) -> dict[str, MatchTriage]:
    """Return the triage of those of these matches that have one, by the id of the match."""
    query = select(MatchTriage).where(
        MatchTriage.stream == stream, MatchTriage.match_id.in_(match_ids)
    )
    return {triage.match_id: triage for triage in session.scalars(query)}


def notes_below(
    session: Session, stream: str, match_id: str, number: int, limit: int
) -> Sequence[MatchNote]:
    """Return notes on a match, newest first, below a number."""
    query = (
        select(MatchNote)
        .where(
            MatchNote.stream == stream, MatchNote.match_id == match_id, MatchNote.number < number
        )
        .order_by(MatchNote.number.desc())
        .limit(limit)
    )
    return session.scalars(query).all()


def rules_after(
    session: Session, stream: str, wanted: CountFilter, after: str, limit: int
) -> Sequence[str]:
    """Return the rules with recent or triaged matches, by id, starting after `after`."""
    of_both = (
        _rules_after(session, table, stream, wanted, after) for table in (Match, MatchTriage)
    )
    return [rule for rule, _ in islice(groupby(merge(*of_both)), limit)]


def _rules_after(
    session: Session, table: type[Match | MatchTriage], stream: str, wanted: CountFilter, after: str
) -> Iterator[str]:
    """Yield the rules of a table by id; an index leaps from one to the next, whatever they have."""
    leap = select(table.processor_id).where(*_counted(table, stream, wanted))
    leap = leap.order_by(table.processor_id).limit(1)
    while found := session.scalar(leap.where(table.processor_id > after)):
        yield found
        after = found


def count_statuses(
    session: Session, stream: str, processor_ids: Sequence[str], wanted: CountFilter
) -> dict[str, dict[str, int]]:
    """Return by rule how many of its matches have which status; of open ones the recent ones."""
    counted: dict[str, dict[str, int]] = defaultdict(dict)
    is_there = case((is_kept(), 1), else_=0)
    decided = (
        select(MatchTriage.processor_id, MatchTriage.status, func.count(), func.sum(is_there))
        .where(
            *_counted(MatchTriage, stream, wanted),
            MatchTriage.processor_id.in_(processor_ids),
            MatchTriage.status != OPEN,
        )
        .group_by(MatchTriage.processor_id, MatchTriage.status)
    )
    looked_at: dict[str, int] = defaultdict(int)
    for processor_id, status, count, kept in session.execute(decided):
        counted[processor_id][status] = count
        looked_at[processor_id] += kept
    # Most open ones have no triage: to look for one of each takes seconds for a million.
    recent = (
        select(Match.processor_id, func.count())
        .where(*_counted(Match, stream, wanted), Match.processor_id.in_(processor_ids))
        .group_by(Match.processor_id)
    )
    for processor_id, count in session.execute(recent):
        counted[processor_id][OPEN] = count - looked_at[processor_id]
    return counted


def rates(stream: str) -> FromClause:
    """Return `processor_id` and `rate`: false positives in a million of what was looked at."""
    is_false = case((MatchTriage.status == "false_positive", PARTS), else_=0)
    query = (
        select(
            MatchTriage.processor_id,
            cast(func.sum(is_false) // func.count(), BigInteger).label("rate"),
        )
        .where(
            *_counted(MatchTriage, stream, COUNTED),
            MatchTriage.status != OPEN,
        )
        .group_by(MatchTriage.processor_id)
    )
    return query.subquery("triaged")


def assignees(session: Session, stream: str) -> list[tuple[str, int]]:
    """Return to whom matches of a stream are assigned, and how many; the most first."""
    query = (
        select(MatchTriage.assignee, func.count().label("count"))
        .where(MatchTriage.stream == stream, MatchTriage.assignee != "")
        .group_by(MatchTriage.assignee)
        .order_by(desc("count"), MatchTriage.assignee)
        .limit(_MOST_ASSIGNEES)
    )
    return [(name, count) for name, count in session.execute(query)]


def labels_after(
    session: Session, stream: str, wanted: LabelFilter, after: tuple[int, str] | None, limit: int
) -> Sequence[MatchTriage]:
    """Return triage that is not open, in the order of (end of the match, id), after a pair."""
    conditions: list[ColumnElement[bool]] = [
        MatchTriage.stream == stream,
        MatchTriage.status != OPEN,
    ]
    if wanted.processor is not None:
        conditions.append(MatchTriage.processor_id == wanted.processor)
    if wanted.version is not None:
        conditions.append(MatchTriage.version == wanted.version)
    if wanted.since is not None:
        conditions.append(MatchTriage.end_ms >= wanted.since)
    if wanted.until is not None:
        conditions.append(MatchTriage.end_ms < wanted.until)
    order = tuple_(MatchTriage.end_ms, MatchTriage.match_id)
    if after is not None:
        conditions.append(order > after)
    query = select(MatchTriage).where(*conditions)
    return session.scalars(
        query.order_by(MatchTriage.end_ms, MatchTriage.match_id).limit(limit)
    ).all()


def newest_labels(
    session: Session,
    stream: str,
    processor_id: str,
    span_ms: tuple[int | None, int | None],
    limit: int,
) -> Sequence[MatchTriage]:
    """Return what was decided about the newest matches of a rule, whichever version found them.

    Args:
        session: the transaction.
        stream: of the rule.
        processor_id: the rule.
        span_ms: matches lie in it: they start there or later, and end before its end; `None` =
            without bound.
        limit: how many at most.
    """
    from_ms, until_ms = span_ms
    conditions: list[ColumnElement[bool]] = [
        MatchTriage.stream == stream,
        MatchTriage.processor_id == processor_id,
        MatchTriage.kind != "timeout",
        MatchTriage.status != OPEN,
    ]
    if from_ms is not None:
        conditions.append(MatchTriage.start_ms >= from_ms)
    if until_ms is not None:
        conditions.append(MatchTriage.end_ms < until_ms)
    query = (
        select(MatchTriage)
        .where(*conditions)
        .order_by(MatchTriage.end_ms.desc(), MatchTriage.match_id)
        .limit(limit)
    )
    return session.scalars(query).all()


def count_recent(session: Session) -> list[tuple[str, str, int]]:
    """Return stream, status and how many recent matches have it."""
    totals = select(Match.stream, func.count()).where(Match.kind.in_(_KINDS)).group_by(Match.stream)
    decided = (
        select(MatchTriage.stream, MatchTriage.status, func.count())
        .where(MatchTriage.kind.in_(_KINDS), MatchTriage.status != OPEN, is_kept())
        .group_by(MatchTriage.stream, MatchTriage.status)
    )
    found = [(stream, status, count) for stream, status, count in session.execute(decided)]
    looked_at: dict[str, int] = defaultdict(int)
    for stream, _, count in found:
        looked_at[stream] += count
    still_open = [
        (stream, OPEN, count - looked_at[stream]) for stream, count in session.execute(totals)
    ]
    return still_open + found


def _counted(
    table: type[Match | MatchTriage], stream: str, wanted: CountFilter
) -> list[ColumnElement[bool]]:
    kinds = _KINDS if wanted.kind is None else (wanted.kind,)
    found: list[ColumnElement[bool]] = [table.stream == stream, table.kind.in_(kinds)]
    if wanted.processor is not None:
        found.append(table.processor_id == wanted.processor)
    if wanted.version is not None:
        found.append(table.version == wanted.version)
    return found

"""All SQL about triage: of single matches, counted per rule, and in the order of event time."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
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

from api.matches.tables import MatchCount, MatchNote, MatchTriage
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
    query = (
        select(MatchCount.processor_id)
        .where(*_counted(stream, wanted), MatchCount.processor_id > after, MatchCount.total > 0)
        .group_by(MatchCount.processor_id)
        .order_by(MatchCount.processor_id)
        .limit(limit)
    )
    return session.scalars(query).all()


def count_statuses(
    session: Session, stream: str, processor_ids: Sequence[str], wanted: CountFilter
) -> dict[str, dict[str, int]]:
    """Return by rule how many of its matches have which status; of open ones the recent ones."""
    query = (
        select(MatchCount.processor_id, MatchCount.status, func.sum(MatchCount.total))
        .where(*_counted(stream, wanted), MatchCount.processor_id.in_(processor_ids))
        .group_by(MatchCount.processor_id, MatchCount.status)
    )
    counts: dict[str, dict[str, int]] = defaultdict(dict)
    for processor_id, status, count in session.execute(query):
        counts[processor_id][status] = int(count)
    return counts


def rates(stream: str) -> FromClause:
    """Return `processor_id` and `rate`: false positives in a million of what was looked at."""
    parts = case((MatchCount.status == "false_positive", PARTS), else_=0) * MatchCount.total
    query = (
        select(
            MatchCount.processor_id,
            cast(
                cast(func.sum(parts), BigInteger) // cast(func.sum(MatchCount.total), BigInteger),
                BigInteger,
            ).label("rate"),
        )
        .where(*_counted(stream, COUNTED), MatchCount.status != OPEN, MatchCount.total > 0)
        .group_by(MatchCount.processor_id)
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
    """Return stream, status and how many recent matches have it; of open ones also that none is."""
    query = (
        select(MatchCount.stream, MatchCount.status, func.sum(MatchCount.present))
        .where(MatchCount.kind.in_(_KINDS), MatchCount.present > 0)
        .group_by(MatchCount.stream, MatchCount.status)
    )
    counts = {(stream, status): int(count) for stream, status, count in session.execute(query)}
    for stream in {stream for stream, _ in counts}:
        counts.setdefault((stream, OPEN), 0)
    return [(stream, status, count) for (stream, status), count in sorted(counts.items())]


def _counted(stream: str, wanted: CountFilter) -> list[ColumnElement[bool]]:
    kinds = _KINDS if wanted.kind is None else (wanted.kind,)
    found: list[ColumnElement[bool]] = [MatchCount.stream == stream, MatchCount.kind.in_(kinds)]
    if wanted.processor is not None:
        found.append(MatchCount.processor_id == wanted.processor)
    if wanted.version is not None:
        found.append(MatchCount.version == wanted.version)
    return found

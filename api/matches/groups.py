"""What matches stand for: kept with the match that went out, or until that comes.

    posted groups ──note──► Match.stands_for · waiting groups ──fulfil──► matches that come later

Of several groups told about one match that with the most matches holds, so it does not matter in
which order they come and how often: a replay changes nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from pydantic_core import from_json
from sqlalchemy.orm import Session

from api.matches import group_repository as repository
from api.matches.tables import Match, MatchLog, WaitingGroup
from contract.canonical import canonical_json
from contract.reports import ReportedGroup
from contract.service.matches import StandsFor

WAITING_GROUPS: Final = 1_000
"""So many groups a stream keeps whose matches it does not have, or not yet."""


def fulfil(session: Session, stream: str, fresh: Iterable[Match]) -> None:
    """Give matches that are added what has been told about them before."""
    added = {match.match_id: match for match in fresh}
    for waiting in repository.waiting_groups(session, stream, added):
        added[waiting.match_id].stands_for = waiting.stands_for
        session.delete(waiting)


def note(session: Session, stream: str, log: MatchLog, told: Sequence[ReportedGroup]) -> bool:
    """Keep what matches stand for; return whether anything is new of a match that is kept.

    Args:
        session: the transaction; matches of the same report have been added.
        stream: the stream.
        log: its counters, locked.
        told: the groups of a report, in any order.
    """
    largest: dict[str, str] = {}
    for group in told:
        largest[group.match_id] = _larger(largest.get(group.match_id), _written(group))
    if not largest:
        return False
    is_news = False
    for match in repository.matches_with_groups(session, stream, largest):
        stands_for = _larger(match.stands_for, largest.pop(match.match_id))
        if stands_for != match.stands_for:
            log.newest_change += 1
            match.stands_for, match.group_change = stands_for, log.newest_change
            is_news = True
    _wait(session, stream, log, largest)
    return is_news


def stands_for(match: Match) -> StandsFor | None:
    """Return what a match stands for; `None` = itself, or its group is not over yet."""
    return None if match.stands_for is None else StandsFor(**from_json(match.stands_for))


def _wait(session: Session, stream: str, log: MatchLog, told: Mapping[str, str]) -> None:
    known = {each.match_id: each for each in repository.waiting_groups(session, stream, told)}
    for match_id, written in told.items():
        log.newest_change += 1
        waiting = known.get(match_id)
        if waiting is None:
            waiting = WaitingGroup(stream=stream, match_id=match_id)
            session.add(waiting)
        waiting.number = log.newest_change
        waiting.stands_for = _larger(waiting.stands_for, written)
    if told:
        session.flush()
        repository.forget_waiting_but(session, stream, WAITING_GROUPS)


def _larger(one: str | None, other: str) -> str:
    return other if one is None else max(one, other, key=_order)


def _order(written: str) -> tuple[Any, ...]:
    group = from_json(written)
    return group["matches"], group["until"], written


def _written(group: ReportedGroup) -> str:
    return canonical_json(
        {
            "matches": group.matches,
            "keys": group.keys,
            "keys_are_estimated": group.keys_are_estimated,
            "group": group.group,
            "is_rest": group.is_rest,
            "since": group.from_ms,
            "until": group.until_ms,
        }
    )

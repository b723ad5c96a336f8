"""All SQL that keeps what matches stand for."""

from collections.abc import Iterable, Sequence

from sqlalchemy import delete, select
from sqlalchemy.orm import Session, load_only

from api.matches.tables import Match, WaitingGroup


def matches_with_groups(session: Session, stream: str, match_ids: Iterable[str]) -> Sequence[Match]:
    """Return those of these matches that a stream has, in any order; only what they stand for."""
    query = select(Match).where(Match.stream == stream, Match.match_id.in_(match_ids))
    columns = load_only(Match.match_id, Match.group_change, Match.stands_for, raiseload=True)
    return session.scalars(query.options(columns)).all()


def waiting_groups(
    session: Session, stream: str, match_ids: Iterable[str]
) -> Sequence[WaitingGroup]:
    """Return what was told of those of these matches that were not there, in any order."""
    query = select(WaitingGroup).where(
        WaitingGroup.stream == stream, WaitingGroup.match_id.in_(match_ids)
    )
    return session.scalars(query).all()


def forget_waiting_but(session: Session, stream: str, kept: int) -> None:
    """Remove what was told of matches that are not there, except the newest."""
    query = (
        select(WaitingGroup.number)
        .where(WaitingGroup.stream == stream)
        .order_by(WaitingGroup.number.desc())
        .limit(1)
        .offset(kept)
    )
    newest = session.scalar(query)
    if newest is not None:
        session.execute(
            delete(WaitingGroup).where(
                WaitingGroup.stream == stream, WaitingGroup.number <= newest
            ),
            execution_options={"synchronize_session": False},
        )

"""All SQL about backtests."""

from collections.abc import Collection, Sequence
from typing import Final

from sqlalchemy import ColumnElement, and_, delete, func, or_, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, undefer

from api.backtests.filters import BacktestFilter
from api.backtests.tables import QUEUED, RUNNING, Backtest, BacktestWorker
from api.store.waits import is_over

BACKTESTS: Final = Backtest.question.is_(None)
QUESTIONS: Final = Backtest.question.is_not(None)
"""The two kinds of what waits for workers, as conditions."""


def backtest_of(session: Session, number: int) -> Backtest | None:
    """Return a backtest, whole."""
    query = (
        select(Backtest)
        .where(Backtest.number == number)
        .options(undefer(Backtest.document), undefer(Backtest.against), undefer(Backtest.report))
    )
    return session.scalars(query).one_or_none()


def locked_backtest(session: Session, number: int) -> Backtest | None:
    """Return a backtest, locked until the transaction ends, as it is then."""
    query = (
        select(Backtest)
        .where(Backtest.number == number)
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    return session.scalars(query).one_or_none()


def backtests_below(
    session: Session, wanted: BacktestFilter, below: int, limit: int
) -> Sequence[Backtest]:
    """Return the backtests that meet a filter, newest first, below a number; no questions."""
    conditions = [Backtest.number < below, BACKTESTS]
    for column, value in (
        (Backtest.stream, wanted.stream),
        (Backtest.processor_id, wanted.processor),
        (Backtest.content_hash, wanted.content_hash),
        (Backtest.state, wanted.state),
    ):
        if value is not None:
            conditions.append(column == value)
    query = select(Backtest).where(*conditions).order_by(Backtest.number.desc()).limit(limit)
    return session.scalars(query).all()


def next_waiting(
    session: Session, streams: Collection[str], now_ms: int, turn_ms: int
) -> Backtest | None:
    """Return the first backtest that no worker has a turn of, locked; none that others lock.

    Questions come first: somebody waits for the answer, and it takes a moment.
    """
    is_left = and_(Backtest.state == RUNNING, is_over(Backtest.turn_ends_ms, now_ms, turn_ms))
    query = (
        select(Backtest)
        .where(Backtest.stream.in_(streams), or_(Backtest.state == QUEUED, is_left))
        .order_by(BACKTESTS, Backtest.number)
        .limit(1)
        .options(undefer(Backtest.document), undefer(Backtest.against))
        .with_for_update(skip_locked=True)
    )
    return session.scalars(query).one_or_none()


def count_waiting(session: Session, stream: str, which: ColumnElement[bool] = BACKTESTS) -> int:
    """Return how many backtests of a stream, or questions, have not ended."""
    query = (
        select(func.count())
        .select_from(Backtest)
        .where(Backtest.stream == stream, Backtest.state.in_((QUEUED, RUNNING)), which)
    )
    return session.scalar(query) or 0


def forget_old(
    session: Session, stream: str, kept: int, which: ColumnElement[bool] = BACKTESTS
) -> None:
    """Remove backtests of a stream, or questions, that have ended, but for the newest ones."""
    ended = (Backtest.stream == stream, Backtest.state.not_in((QUEUED, RUNNING)), which)
    oldest_kept = session.scalar(
        select(Backtest.number)
        .where(*ended)
        .order_by(Backtest.number.desc())
        .offset(kept - 1)
        .limit(1)
    )
    if oldest_kept is not None:
        session.execute(
            delete(Backtest).where(*ended, Backtest.number < oldest_kept),
            execution_options={"synchronize_session": False},
        )


def note_worker(session: Session, stream: str, name: str, now_ms: int) -> None:
    """Remember that a worker has asked for backtests of a stream."""
    worker = session.get(BacktestWorker, (stream, name))
    if worker is not None:
        worker.seen_at_ms = now_ms
        return
    try:
        with session.begin_nested():
            session.add(BacktestWorker(stream=stream, name=name, seen_at_ms=now_ms))
    except IntegrityError:
        pass  # another request of the same worker was sooner


def forget_workers(session: Session, now_ms: int, kept_ms: int) -> None:
    """Remove workers that have not asked for so long."""
    session.execute(
        delete(BacktestWorker).where(is_over(BacktestWorker.seen_at_ms, now_ms - kept_ms, kept_ms)),
        execution_options={"synchronize_session": False},
    )


def workers_since(session: Session, stream: str, since_ms: int) -> Sequence[BacktestWorker]:
    """Return the workers that have asked for backtests of a stream since, by name."""
    query = (
        select(BacktestWorker)
        .where(BacktestWorker.stream == stream, BacktestWorker.seen_at_ms >= since_ms)
        .order_by(BacktestWorker.name)
    )
    return session.scalars(query).all()


def forgotten_questions(
    session: Session, stream: str, now_ms: int, longest_ms: int
) -> Sequence[Backtest]:
    """Return the questions that have waited for so long, and that no worker has begun."""
    query = select(Backtest).where(
        Backtest.stream == stream,
        Backtest.state == QUEUED,
        QUESTIONS,
        is_over(Backtest.created_at_ms, now_ms - longest_ms, longest_ms),
    )
    return session.scalars(query).all()


def has_worker(session: Session, stream: str, since_ms: int, now_ms: int) -> bool:
    """Return whether a worker has asked for backtests of a stream since, or runs one now."""
    if workers_since(session, stream, since_ms):
        return True
    running = select(Backtest.number).where(
        Backtest.stream == stream, Backtest.state == RUNNING, Backtest.turn_ends_ms >= now_ms
    )
    return session.scalar(running.limit(1)) is not None


def count_by_state(session: Session) -> list[tuple[str, str, int]]:
    """Return how many backtests are kept, by stream and state."""
    query = (
        select(Backtest.stream, Backtest.state, func.count())
        .where(BACKTESTS)
        .group_by(Backtest.stream, Backtest.state)
    )
    return [(stream, state, count) for stream, state, count in session.execute(query)]

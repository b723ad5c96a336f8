"""The tables of backtests, and of the workers that run them."""

from sqlalchemy import BigInteger, ForeignKey, Index, Integer, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from api.store.database import Name, Record

QUEUED = "queued"
RUNNING = "running"
DONE = "done"
FAILED = "failed"
CANCELLED = "cancelled"


class Backtest(Record):
    """One backtest, from the request to its result.

    `document` and `against` are processor documents as JSON. One with a `question`, a `KeyQuestion`
    as JSON, is no backtest: it is answered by the workers that run those (`questions`). While it
    runs, `attempt` names the turn that a worker has until `turn_ends_ms`; afterwards it may be
    given to another one.
    """

    __tablename__ = "backtests"
    __table_args__ = (
        Index(None, "stream", "state", "number"),
        Index(None, "stream", "processor_id", "number"),
    )

    number: Mapped[int] = mapped_column(
        BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True
    )
    stream: Mapped[str] = mapped_column(Name, ForeignKey("streams.name"))
    processor_id: Mapped[str] = mapped_column(Name)
    version: Mapped[int | None]
    content_hash: Mapped[str] = mapped_column(String(64))
    against_version: Mapped[int | None]
    document: Mapped[str] = mapped_column(Text, deferred=True)
    against: Mapped[str | None] = mapped_column(Text, deferred=True)
    from_ms: Mapped[int | None] = mapped_column(BigInteger)
    until_ms: Mapped[int | None] = mapped_column(BigInteger)
    question: Mapped[str | None] = mapped_column(Text)
    closes_windows: Mapped[bool]
    takes_labels: Mapped[bool]
    state: Mapped[str] = mapped_column(String(10))
    created_at_ms: Mapped[int] = mapped_column(BigInteger)
    created_by: Mapped[str] = mapped_column(String(100))
    worker: Mapped[str] = mapped_column(String(100), default="")
    attempt: Mapped[int] = mapped_column(default=0)
    turn_ends_ms: Mapped[int | None] = mapped_column(BigInteger)
    started_at_ms: Mapped[int | None] = mapped_column(BigInteger)
    ended_at_ms: Mapped[int | None] = mapped_column(BigInteger)
    events_done: Mapped[int] = mapped_column(BigInteger, default=0)
    events_total: Mapped[int] = mapped_column(BigInteger, default=0)
    matches: Mapped[int | None] = mapped_column(BigInteger)
    gained: Mapped[int | None] = mapped_column(BigInteger)
    lost: Mapped[int | None] = mapped_column(BigInteger)
    error: Mapped[str] = mapped_column(Text, default="")
    report: Mapped[str | None] = mapped_column(Text, deferred=True)


class BacktestWorker(Record):
    """A worker that has the events of a stream, and when it last asked for a backtest."""

    __tablename__ = "backtest_workers"

    stream: Mapped[str] = mapped_column(Name, ForeignKey("streams.name"), primary_key=True)
    name: Mapped[str] = mapped_column(Name, primary_key=True)
    seen_at_ms: Mapped[int] = mapped_column(BigInteger)

"""The tables of recent matches."""

from sqlalchemy import BigInteger, ForeignKey, Index, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from api.store.database import Name, Record


class MatchLog(Record):
    """Counts the matches of one stream; `newest` is the number of the newest.

    Its row is locked while matches are added, so that numbers are unique and committed in order: a
    reader that has read up to a number never misses a lower one.
    """

    __tablename__ = "match_logs"

    stream: Mapped[str] = mapped_column(Name, ForeignKey("streams.name"), primary_key=True)
    newest: Mapped[int] = mapped_column(BigInteger)


class Match(Record):
    """One match or timed-out partial match; `number` counts up within its stream.

    `key_text` is the key as people write it, `output` and `events` are JSON.
    """

    __tablename__ = "matches"
    __table_args__ = (
        UniqueConstraint("stream", "match_id"),
        Index(None, "stream", "processor_id", "number"),
        Index(None, "stream", "key_text", "number"),
    )

    stream: Mapped[str] = mapped_column(Name, ForeignKey("streams.name"), primary_key=True)
    number: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    match_id: Mapped[str] = mapped_column(String(128))
    job: Mapped[str] = mapped_column(Name)
    kind: Mapped[str] = mapped_column(String(16))
    processor_id: Mapped[str] = mapped_column(Name)
    version: Mapped[int]
    epoch: Mapped[int] = mapped_column(BigInteger)
    key: Mapped[str] = mapped_column(Text)
    key_text: Mapped[str] = mapped_column(Name)
    start_ms: Mapped[int] = mapped_column(BigInteger)
    end_ms: Mapped[int] = mapped_column(BigInteger)
    received_at_ms: Mapped[int] = mapped_column(BigInteger)
    output: Mapped[str] = mapped_column(Text)
    events: Mapped[str] = mapped_column(Text)
    event_count: Mapped[int]

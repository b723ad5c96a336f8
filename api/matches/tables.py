"""The tables of recent matches, and of what people have made of them."""

from sqlalchemy import (
    BigInteger,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    String,
    Text,
    UniqueConstraint,
    and_,
)
from sqlalchemy.orm import Mapped, foreign, mapped_column, relationship

from api.store.database import Name, Record


class MatchLog(Record):
    """Counts the matches of one stream, and the changes of their triage and groups.

    Its row is locked while matches are added or triaged, so that numbers are unique and committed
    in order: a reader that has read up to a number never misses a lower one. Both are the newest.
    """

    __tablename__ = "match_logs"

    stream: Mapped[str] = mapped_column(Name, ForeignKey("streams.name"), primary_key=True)
    newest: Mapped[int] = mapped_column(BigInteger)
    newest_change: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")


class MatchTriage(Record):
    """What people have made of one match, and so much of the match as a label of its rule needs.

    A match without one is open and nobody's. It stays when the match is removed (docs/decisions,
    0042), and is found again if the same match is posted again.

    `change` and `revision` are numbers of `MatchLog.newest_change`: `change` that of the newest
    change, notes among them; `revision` that of the newest one of status or assignee, by
    `decided_by` at `decided_at_ms`, and 0 if there was none.
    """

    __tablename__ = "match_triage"
    __table_args__ = (
        UniqueConstraint("stream", "change"),
        Index(None, "stream", "processor_id", "kind", "status"),
        Index(None, "stream", "changed_at_ms"),
        Index(None, "stream", "assignee"),
        Index(None, "stream", "end_ms", "match_id"),
    )

    stream: Mapped[str] = mapped_column(Name, ForeignKey("streams.name"), primary_key=True)
    match_id: Mapped[str] = mapped_column(String(128), primary_key=True)
    status: Mapped[str] = mapped_column(String(16))
    assignee: Mapped[str] = mapped_column(String(100))
    change: Mapped[int] = mapped_column(BigInteger)
    changed_at_ms: Mapped[int] = mapped_column(BigInteger)
    revision: Mapped[int] = mapped_column(BigInteger)
    decided_at_ms: Mapped[int | None] = mapped_column(BigInteger)
    decided_by: Mapped[str] = mapped_column(String(100))
    note_count: Mapped[int]
    job: Mapped[str] = mapped_column(Name)
    kind: Mapped[str] = mapped_column(String(16))
    processor_id: Mapped[str] = mapped_column(Name)
    version: Mapped[int]
    key: Mapped[str] = mapped_column(Text)
    start_ms: Mapped[int] = mapped_column(BigInteger)
    end_ms: Mapped[int] = mapped_column(BigInteger)


class MatchCount(Record):
    """How many matches of one version and kind have one status; changed with each of them.

    `present` are those that are there. `total` are also those that were removed, of which the
    decision is left; open ones that were removed are in neither.
    """

    __tablename__ = "match_counts"

    stream: Mapped[str] = mapped_column(Name, ForeignKey("streams.name"), primary_key=True)
    processor_id: Mapped[str] = mapped_column(Name, primary_key=True)
    kind: Mapped[str] = mapped_column(String(16), primary_key=True)
    version: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    status: Mapped[str] = mapped_column(String(16), primary_key=True)
    present: Mapped[int] = mapped_column(BigInteger)
    total: Mapped[int] = mapped_column(BigInteger)


class MatchNote(Record):
    """One note on a match; notes are never changed, and go with the triage of their match."""

    __tablename__ = "match_notes"
    __table_args__ = (
        ForeignKeyConstraint(
            ["stream", "match_id"],
            ["match_triage.stream", "match_triage.match_id"],
            ondelete="CASCADE",
        ),
    )

    stream: Mapped[str] = mapped_column(Name, primary_key=True)
    match_id: Mapped[str] = mapped_column(String(128), primary_key=True)
    number: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    at_ms: Mapped[int] = mapped_column(BigInteger)
    author: Mapped[str] = mapped_column(String(100))
    author_id: Mapped[str] = mapped_column(String(16))
    text: Mapped[str] = mapped_column(Text)


class WaitingGroup(Record):
    """What a match stands for that the service does not have, or not yet; see `Match.stands_for`.

    `number` counts up within the stream, so that the oldest can be removed.
    """

    __tablename__ = "waiting_groups"
    __table_args__ = (UniqueConstraint("stream", "number"),)

    stream: Mapped[str] = mapped_column(Name, ForeignKey("streams.name"), primary_key=True)
    match_id: Mapped[str] = mapped_column(String(128), primary_key=True)
    number: Mapped[int] = mapped_column(BigInteger)
    stands_for: Mapped[str] = mapped_column(Text)


class Match(Record):
    """One match or timed-out partial match; `number` counts up within its stream.

    `key_text` is the key as people write it, `output` and `events` are JSON. `group_id` is empty
    if it is in no group. `stands_for` is what its group was, JSON, once its window is over and if
    it had more than one match; told of as the change `group_change`, one of
    `MatchLog.newest_change`.
    """

    __tablename__ = "matches"
    __table_args__ = (
        UniqueConstraint("stream", "match_id"),
        Index(None, "stream", "processor_id", "number"),
        Index(None, "stream", "key_text", "number"),
        # SQLite would read all matches of a busy rule for one key of it.
        Index(None, "stream", "processor_id", "key_text", "number"),
        # Finds the oldest without reading any match.
        Index(None, "stream", "processor_id", "kind", "number"),
        Index(None, "stream", "group_change"),
        Index(None, "stream", "end_ms", "number"),
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
    group_id: Mapped[str] = mapped_column(String(64), default="", server_default="")
    group_change: Mapped[int | None] = mapped_column(BigInteger)
    stands_for: Mapped[str | None] = mapped_column(Text)
    triage: Mapped[MatchTriage | None] = relationship(
        primaryjoin=lambda: and_(
            foreign(Match.stream) == MatchTriage.stream,
            foreign(Match.match_id) == MatchTriage.match_id,
        ),
        viewonly=True,
        lazy="raise",
    )

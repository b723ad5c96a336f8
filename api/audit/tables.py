"""The table of the change log."""

from sqlalchemy import BigInteger, ForeignKey, Index, Integer, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from api.store.database import Name, Record


class Change(Record):
    """One change; `epoch` is set if it changed what runs on `stream`.

    Changes that were made as one, as by a change set, have the same epoch.
    """

    __tablename__ = "changes"
    __table_args__ = (
        Index(None, "stream", "epoch"),
        Index(None, "processor_id", "id"),
    )

    id: Mapped[int] = mapped_column(
        BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True
    )
    at_ms: Mapped[int] = mapped_column(BigInteger, index=True)
    actor: Mapped[str] = mapped_column(String(100))
    actor_id: Mapped[str] = mapped_column(String(16), default="", server_default="")
    action: Mapped[str] = mapped_column(String(40))
    stream: Mapped[str | None] = mapped_column(Name, ForeignKey("streams.name"))
    epoch: Mapped[int | None] = mapped_column(BigInteger)
    processor_id: Mapped[str | None] = mapped_column(Name)
    old_version: Mapped[int | None]
    new_version: Mapped[int | None]
    subject: Mapped[str] = mapped_column(Text, default="")
    comment: Mapped[str] = mapped_column(Text, default="")
    request_id: Mapped[str] = mapped_column(String(64), default="")


class FailedEvent(Record):
    """Where in the events a version failed whose quarantine is in the log.

    Events are of people, so they are kept for the newest quarantines of a rule only, and not in the
    log, which is never shortened.
    """

    __tablename__ = "failed_events"
    __table_args__ = (Index(None, "processor_id", "change_id"),)

    change_id: Mapped[int] = mapped_column(
        BigInteger().with_variant(Integer, "sqlite"), ForeignKey("changes.id"), primary_key=True
    )
    processor_id: Mapped[str] = mapped_column(Name)
    content: Mapped[str] = mapped_column(Text)

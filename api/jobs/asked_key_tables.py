"""The tables of keys that somebody asks about, and of what jobs tell of them."""

from sqlalchemy import BigInteger, ForeignKey, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from api.store.database import Name, Record


class AskedKeyRow(Record):
    """A key of a rule that is asked about until `until_ms`, by the clock; `key` is a JSON array.

    `asked_by` is the id of the token that asked first.
    """

    __tablename__ = "asked_keys"
    __table_args__ = (Index(None, "stream", "until_ms"),)

    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    stream: Mapped[str] = mapped_column(Name, ForeignKey("streams.name"))
    processor_id: Mapped[str] = mapped_column(Name, ForeignKey("processors.id"))
    key: Mapped[str] = mapped_column(Text)
    until_ms: Mapped[int] = mapped_column(BigInteger)
    asked_by: Mapped[str] = mapped_column(String(32), server_default="")


class KeyAnswerRow(Record):
    """What a job last told of a key: a `contract.asked_keys.KeyAnswer` as JSON."""

    __tablename__ = "key_answers"

    asked_id: Mapped[str] = mapped_column(
        String(16), ForeignKey("asked_keys.id", ondelete="CASCADE"), primary_key=True
    )
    job_id: Mapped[str] = mapped_column(
        String(16), ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True
    )
    answer: Mapped[str] = mapped_column(Text)
    answered_at_ms: Mapped[int] = mapped_column(BigInteger)

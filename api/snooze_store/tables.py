"""The table of snoozes."""

from sqlalchemy import BigInteger, ForeignKey, Index, Integer, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from api.store.database import Name, Record


class Snooze(Record):
    """One snooze is in the snapshots of the epochs `[from_epoch, until_epoch)`; open end = still.

    It is about the matches of one key, or of all (`None`), up to the event time `until_ms`. One
    that has taken another's place is a row of its own.
    """

    __tablename__ = "snoozes"
    __table_args__ = (
        Index(None, "stream", "until_epoch"),
        Index(None, "processor_id", "until_epoch"),
    )

    number: Mapped[int] = mapped_column(
        BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True
    )
    stream: Mapped[str] = mapped_column(Name, ForeignKey("streams.name"))
    processor_id: Mapped[str] = mapped_column(Name, ForeignKey("processors.id"))
    key_text: Mapped[str | None] = mapped_column(Text)
    until_ms: Mapped[int] = mapped_column(BigInteger)
    from_epoch: Mapped[int] = mapped_column(BigInteger)
    until_epoch: Mapped[int | None] = mapped_column(BigInteger)
    created_at_ms: Mapped[int] = mapped_column(BigInteger)
    created_by: Mapped[str] = mapped_column(String(100))
    comment: Mapped[str] = mapped_column(Text, default="")

"""The table of what is compared while a version is tried."""

from sqlalchemy import BigInteger, ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from api.store.database import Name, Record


class ComparedFind(Record):
    """One match that the published version found, or the one that is tried, or both.

    `identity` names it without the version, so that what both find is one.
    """

    __tablename__ = "compared_finds"

    processor_id: Mapped[str] = mapped_column(Name, ForeignKey("processors.id"), primary_key=True)
    tried_version: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    job: Mapped[str] = mapped_column(Name, primary_key=True)
    identity: Mapped[str] = mapped_column(String(64), primary_key=True)
    stream: Mapped[str] = mapped_column(Name, ForeignKey("streams.name"))
    by_published: Mapped[bool]
    by_tried: Mapped[bool]
    match_id: Mapped[str] = mapped_column(String(128))
    key_text: Mapped[str] = mapped_column(Name)
    start_ms: Mapped[int] = mapped_column(BigInteger)
    end_ms: Mapped[int] = mapped_column(BigInteger)

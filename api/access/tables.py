"""The table of access tokens."""

from sqlalchemy import BigInteger, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from api.store.database import Record


class Token(Record):
    """One token; only the SHA-256 of its text is stored.

    `person` is whose it is, "" where nobody has said so: one person may have several tokens.
    `streams` are the names of the streams it is confined to, a list in JSON; `None` = all streams.
    """

    __tablename__ = "tokens"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    name: Mapped[str] = mapped_column(String(100))
    person: Mapped[str] = mapped_column(String(100), default="", server_default="")
    role: Mapped[str] = mapped_column(String(16))
    streams: Mapped[str | None] = mapped_column(Text)
    sha256: Mapped[str] = mapped_column(String(64), unique=True)
    created_at_ms: Mapped[int] = mapped_column(BigInteger)
    created_by: Mapped[str] = mapped_column(String(100))
    expires_at_ms: Mapped[int | None] = mapped_column(BigInteger)
    revoked_at_ms: Mapped[int | None] = mapped_column(BigInteger)

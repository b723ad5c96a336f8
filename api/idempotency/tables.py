"""The table of changes that were made under a key, with what was answered."""

from sqlalchemy import BigInteger, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from api.store.database import Record


class IdempotentRequest(Record):
    """One change, written in its own transaction: the row is there if and only if it was made.

    `fingerprint` tells another request under the same key from the same one; `body` is `None` where
    the answer is not kept, as it held a secret or was too long.
    """

    __tablename__ = "idempotent_requests"

    token_id: Mapped[str] = mapped_column(String(16), primary_key=True)
    key_sha256: Mapped[str] = mapped_column(String(64), primary_key=True)
    fingerprint: Mapped[str] = mapped_column(String(64))
    created_at_ms: Mapped[int] = mapped_column(BigInteger, index=True)
    status: Mapped[int]
    headers: Mapped[str] = mapped_column(Text)
    body: Mapped[str | None] = mapped_column(Text)

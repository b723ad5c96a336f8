"""The tables of webhooks: where to, what each has been told, and what is on its way."""

from sqlalchemy import BigInteger, ForeignKey, Index, Integer, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from api.store.database import Name, Record

PENDING = "pending"
DELIVERED = "delivered"
FAILED = "failed"

_WEBHOOK = "webhooks.id"


class Webhook(Record):
    """One receiver: what is sent to it, and the secret that signs it.

    `events` are names of kinds of events, a list in JSON; `stream` is the one that they must be of,
    if one is named. The secret is kept as it is, as a signature cannot be made of its hash.
    """

    __tablename__ = "webhooks"

    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    name: Mapped[str] = mapped_column(Name, unique=True)
    url: Mapped[str] = mapped_column(Text)
    secret: Mapped[str] = mapped_column(Text)
    events: Mapped[str] = mapped_column(Text)
    stream: Mapped[str | None] = mapped_column(Name, ForeignKey("streams.name"))
    enabled: Mapped[bool]
    created_at_ms: Mapped[int] = mapped_column(BigInteger)
    created_by: Mapped[str] = mapped_column(String(100))


class WebhookTold(Record):
    """A webhook has been told of something that still is so; it is told again once it was not."""

    __tablename__ = "webhook_told"

    webhook_id: Mapped[str] = mapped_column(
        String(16), ForeignKey(_WEBHOOK, ondelete="CASCADE"), primary_key=True
    )
    subject: Mapped[str] = mapped_column(Name, primary_key=True)


class WebhookDelivery(Record):
    """One message to one webhook.

    Whoever sends it has put `next_attempt_ms` behind the longest time that takes, so that nobody
    else does meanwhile; `attempts` tells whether it is still that attempt when the answer is there.
    """

    __tablename__ = "webhook_deliveries"
    __table_args__ = (
        Index(None, "state", "next_attempt_ms"),
        Index(None, "webhook_id", "number"),
    )

    number: Mapped[int] = mapped_column(
        BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True
    )
    webhook_id: Mapped[str] = mapped_column(String(16), ForeignKey(_WEBHOOK, ondelete="CASCADE"))
    message_id: Mapped[str] = mapped_column(String(40))
    event: Mapped[str] = mapped_column(String(40))
    body: Mapped[str] = mapped_column(Text)
    state: Mapped[str] = mapped_column(String(10))
    attempts: Mapped[int] = mapped_column(default=0)
    next_attempt_ms: Mapped[int] = mapped_column(BigInteger)
    created_at_ms: Mapped[int] = mapped_column(BigInteger)
    ended_at_ms: Mapped[int | None] = mapped_column(BigInteger)
    status: Mapped[int | None]
    error: Mapped[str] = mapped_column(Text, default="")

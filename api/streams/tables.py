"""The tables of streams: identity with the epoch counter, and the definition's versions."""

from sqlalchemy import BigInteger, ForeignKey, String, Text, true
from sqlalchemy.orm import Mapped, mapped_column

from api.store.database import Name, Record


class Stream(Record):
    """One stream; `epoch` is its newest, changed only by `repository.next_epoch`.

    `required_approvals` is how many people must approve a change of what runs on it, and
    `lists_need_approvals` whether that holds for its lists, too.

    `uid` is random: it distinguishes this stream from one of the same name in another database.
    """

    __tablename__ = "streams"

    name: Mapped[str] = mapped_column(Name, primary_key=True)
    uid: Mapped[str] = mapped_column(String(16))
    epoch: Mapped[int] = mapped_column(BigInteger)
    version: Mapped[int]
    description: Mapped[str] = mapped_column(Text, default="")
    required_approvals: Mapped[int] = mapped_column(default=0, server_default="0")
    lists_need_approvals: Mapped[bool] = mapped_column(default=True, server_default=true())
    created_at_ms: Mapped[int] = mapped_column(BigInteger)
    created_by: Mapped[str] = mapped_column(String(100))


class StreamVersion(Record):
    """One version of a stream's definition, in force from `epoch` on; never changed."""

    __tablename__ = "stream_versions"

    stream: Mapped[str] = mapped_column(Name, ForeignKey("streams.name"), primary_key=True)
    version: Mapped[int] = mapped_column(primary_key=True)
    epoch: Mapped[int] = mapped_column(BigInteger)
    definition: Mapped[str] = mapped_column(Text)
    created_at_ms: Mapped[int] = mapped_column(BigInteger)
    created_by: Mapped[str] = mapped_column(String(100))

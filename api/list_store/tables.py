"""The tables of lists: identity, the log of versions, contents by digest."""

from sqlalchemy import (
    BigInteger,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    LargeBinary,
    String,
    Text,
)
from sqlalchemy.orm import Mapped, mapped_column

from api.store.database import Name, Record


class StoredList(Record):
    """One list of a stream; a deleted one stays, so that numbers go on if it is created again.

    `revision` counts every change and is the ETag.
    """

    __tablename__ = "lists"

    stream: Mapped[str] = mapped_column(Name, ForeignKey("streams.name"), primary_key=True)
    name: Mapped[str] = mapped_column(Name, primary_key=True)
    data_type: Mapped[str] = mapped_column(String(10))
    description: Mapped[str] = mapped_column(Text)
    is_deleted: Mapped[bool]
    revision: Mapped[int]
    latest_version: Mapped[int]
    created_at_ms: Mapped[int] = mapped_column(BigInteger)
    created_by: Mapped[str] = mapped_column(String(100))
    updated_at_ms: Mapped[int] = mapped_column(BigInteger)
    updated_by: Mapped[str] = mapped_column(String(100))


class ListVersion(Record):
    """One version of a list; it is in the snapshots of the epochs `[from_epoch, until_epoch)`.

    It is never removed; its content may be, see `has_content`. `added` and `removed` count values
    beside the version it was made from.
    """

    __tablename__ = "list_versions"
    __table_args__ = (
        ForeignKeyConstraint(["stream", "name"], ["lists.stream", "lists.name"]),
        Index(None, "stream", "until_epoch"),
    )

    stream: Mapped[str] = mapped_column(Name, primary_key=True)
    name: Mapped[str] = mapped_column(Name, primary_key=True)
    version: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    data_type: Mapped[str] = mapped_column(String(10))
    digest: Mapped[str] = mapped_column(String(64))
    has_content: Mapped[bool]
    count: Mapped[int]
    added: Mapped[int]
    removed: Mapped[int]
    effective_from_ms: Mapped[int | None] = mapped_column(BigInteger)
    from_epoch: Mapped[int] = mapped_column(BigInteger)
    until_epoch: Mapped[int | None] = mapped_column(BigInteger)
    restored_version: Mapped[int | None]
    created_at_ms: Mapped[int] = mapped_column(BigInteger)
    created_by: Mapped[str] = mapped_column(String(100))
    comment: Mapped[str] = mapped_column(Text)


class ListContent(Record):
    """The canonical content of versions of lists, compressed by gzip."""

    __tablename__ = "list_contents"

    stream: Mapped[str] = mapped_column(Name, ForeignKey("streams.name"), primary_key=True)
    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    compressed: Mapped[bytes] = mapped_column(LargeBinary)
    size_bytes: Mapped[int] = mapped_column(BigInteger)

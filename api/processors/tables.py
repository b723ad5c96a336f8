"""The tables of processors: identity, immutable versions, and which versions are published when."""

from sqlalchemy import BigInteger, Boolean, ForeignKey, ForeignKeyConstraint, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from api.store.database import Name, Record


class Processor(Record):
    """One processor: its identity, its labels and its state.

    `revision` counts every change and is the ETag. `state`, `begins_ms`, `latest_version` and
    `current_version` are derived from the versions and publications below, so that lists need only
    this row: when the last of what is published begins, if that has a schedule; the newest version
    of all, and the newest that is or was published, rather than only tried; of a processor that has
    none, it is the one that is tried.
    """

    __tablename__ = "processors"
    __table_args__ = (Index(None, "stream", "id"), Index(None, "updated_at_ms", "id"))

    id: Mapped[str] = mapped_column(Name, primary_key=True)
    stream: Mapped[str] = mapped_column(Name, ForeignKey("streams.name"))
    state: Mapped[str] = mapped_column(String(16))
    begins_ms: Mapped[int | None] = mapped_column(BigInteger)
    revision: Mapped[int]
    latest_version: Mapped[int]
    current_version: Mapped[int] = mapped_column(default=0, server_default="0")
    description: Mapped[str] = mapped_column(Text, default="")
    owner: Mapped[str] = mapped_column(Name, default="")
    severity: Mapped[str] = mapped_column(String(16), default="")
    warning_count: Mapped[int] = mapped_column(default=0)
    created_at_ms: Mapped[int] = mapped_column(BigInteger)
    created_by: Mapped[str] = mapped_column(String(100))
    updated_at_ms: Mapped[int] = mapped_column(BigInteger)
    updated_by: Mapped[str] = mapped_column(String(100))


class ProcessorTag(Record):
    """One tag of a processor."""

    __tablename__ = "processor_tags"
    __table_args__ = (Index(None, "tag"),)

    processor_id: Mapped[str] = mapped_column(
        Name, ForeignKey("processors.id", ondelete="CASCADE"), primary_key=True
    )
    tag: Mapped[str] = mapped_column(Name, primary_key=True)


class ProcessorVersion(Record):
    """One version of a processor; never changed and never deleted.

    `definition` is the canonical JSON a job gets, `examples` that of the examples. `content_hash`
    covers the whole normalised content, `rule_hash` only what affects matches.
    """

    __tablename__ = "processor_versions"
    __table_args__ = (Index(None, "rule_hash"),)

    processor_id: Mapped[str] = mapped_column(Name, ForeignKey("processors.id"), primary_key=True)
    version: Mapped[int] = mapped_column(primary_key=True)
    definition: Mapped[str] = mapped_column(Text)
    examples: Mapped[str] = mapped_column(Text)
    warnings: Mapped[str] = mapped_column(Text)
    content_hash: Mapped[str] = mapped_column(String(64))
    rule_hash: Mapped[str] = mapped_column(String(64))
    effective_from_ms: Mapped[int | None] = mapped_column(BigInteger)
    effective_until_ms: Mapped[int | None] = mapped_column(BigInteger)
    restored_version: Mapped[int | None]
    created_at_ms: Mapped[int] = mapped_column(BigInteger)
    created_by: Mapped[str] = mapped_column(String(100))
    comment: Mapped[str] = mapped_column(Text, default="")


class Publication(Record):
    """One version is in the snapshots of the epochs `[from_epoch, until_epoch)`; open end = still.

    A pause ends a publication and begins another one, marked; so does another share. Snapshots of
    all epochs are read from these intervals. With a `share` the version is tried beside what is
    published, see `contract.snapshot.SnapshotRollout`.
    """

    __tablename__ = "publications"
    __table_args__ = (
        ForeignKeyConstraint(
            ["processor_id", "version"],
            ["processor_versions.processor_id", "processor_versions.version"],
        ),
        Index(None, "stream", "from_epoch"),
        Index(None, "stream", "until_epoch"),
    )

    processor_id: Mapped[str] = mapped_column(Name, primary_key=True)
    version: Mapped[int] = mapped_column(primary_key=True)
    from_epoch: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    until_epoch: Mapped[int | None] = mapped_column(BigInteger)
    stream: Mapped[str] = mapped_column(Name, ForeignKey("streams.name"))
    paused: Mapped[bool] = mapped_column(Boolean)
    share: Mapped[int | None]


class ListUse(Record):
    """One version of a processor names a list of its stream, which has this type."""

    __tablename__ = "list_uses"
    __table_args__ = (
        ForeignKeyConstraint(
            ["processor_id", "version"],
            ["processor_versions.processor_id", "processor_versions.version"],
        ),
        Index(None, "name"),
    )

    processor_id: Mapped[str] = mapped_column(Name, primary_key=True)
    version: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(Name, primary_key=True)
    data_type: Mapped[str] = mapped_column(String(10))

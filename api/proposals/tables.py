"""The tables of proposals: what is to be changed, who approved it, what was said about it."""

from sqlalchemy import BigInteger, ForeignKey, Index, Integer, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from api.store.database import Name, Record

_Id = BigInteger().with_variant(Integer, "sqlite")


class Proposal(Record):
    """One change that is proposed, of a rule or of a list; the id or name of the other is "".

    `revision` counts every edit, and is what approvals are of. `document` is what was sent, "" if
    the kind has none; `content` is what would run, in the form of a version; `versions` are those
    that the change is about, a list in JSON. `base_epoch` is the epoch of the newest change of what
    runs of the rule when it was proposed, 0 if there was none, and `base_version` what the content
    is compared with: the version that ran then or, if none did, the one that ran last. Of a list,
    `document` is the change as it was sent, `content` how its values would differ, and
    `base_version` the version that it is compared with.
    """

    __tablename__ = "proposals"
    __table_args__ = (Index(None, "stream", "state", "id"), Index(None, "processor_id", "id"))

    id: Mapped[int] = mapped_column(_Id, primary_key=True, autoincrement=True)
    stream: Mapped[str] = mapped_column(Name, ForeignKey("streams.name"))
    processor_id: Mapped[str] = mapped_column(Name)
    list_name: Mapped[str] = mapped_column(Name, server_default="")
    effective_from_ms: Mapped[int | None] = mapped_column(BigInteger)
    kind: Mapped[str] = mapped_column(String(16))
    state: Mapped[str] = mapped_column(String(16))
    revision: Mapped[int]
    document: Mapped[str] = mapped_column(Text)
    content: Mapped[str] = mapped_column(Text)
    versions: Mapped[str] = mapped_column(Text)
    share: Mapped[int | None]
    comment: Mapped[str] = mapped_column(Text)
    base_epoch: Mapped[int] = mapped_column(BigInteger)
    base_version: Mapped[int | None]
    stream_version: Mapped[int]
    warnings: Mapped[str] = mapped_column(Text)
    example_count: Mapped[int]
    author: Mapped[str] = mapped_column(String(100))
    author_identity: Mapped[str] = mapped_column(String(100))
    created_at_ms: Mapped[int] = mapped_column(BigInteger)
    edited_at_ms: Mapped[int] = mapped_column(BigInteger)
    comment_count: Mapped[int]
    closed_at_ms: Mapped[int | None] = mapped_column(BigInteger)
    closed_by: Mapped[str] = mapped_column(String(100))
    reason: Mapped[str] = mapped_column(Text)
    published_version: Mapped[int | None]
    published_epoch: Mapped[int | None] = mapped_column(BigInteger)


class ProposalApproval(Record):
    """One person approves one revision of a proposal, with a token of theirs."""

    __tablename__ = "proposal_approvals"

    proposal_id: Mapped[int] = mapped_column(
        _Id, ForeignKey("proposals.id", ondelete="CASCADE"), primary_key=True
    )
    person: Mapped[str] = mapped_column(String(100), primary_key=True)
    revision: Mapped[int]
    name: Mapped[str] = mapped_column(String(100))
    token_id: Mapped[str] = mapped_column(String(16))
    at_ms: Mapped[int] = mapped_column(BigInteger)


class ProposalComment(Record):
    """One comment on a proposal; comments are never changed."""

    __tablename__ = "proposal_comments"

    proposal_id: Mapped[int] = mapped_column(
        _Id, ForeignKey("proposals.id", ondelete="CASCADE"), primary_key=True
    )
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    at_ms: Mapped[int] = mapped_column(BigInteger)
    author: Mapped[str] = mapped_column(String(100))
    author_id: Mapped[str] = mapped_column(String(16))
    text: Mapped[str] = mapped_column(Text)

"""Proposals of changes, their approvals and comments; whose tokens are; what streams ask for."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_NAME = sa.String().with_variant(sa.String(collation="C"), "postgresql")
_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    with op.batch_alter_table("tokens") as tokens:
        tokens.add_column(
            sa.Column("person", sa.String(length=100), nullable=False, server_default="")
        )
    with op.batch_alter_table("streams") as streams:
        streams.add_column(
            sa.Column("required_approvals", sa.Integer(), nullable=False, server_default="0")
        )
    op.create_table(
        "proposals",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        sa.Column("stream", _NAME, nullable=False),
        sa.Column("processor_id", _NAME, nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("versions", sa.Text(), nullable=False),
        sa.Column("share", sa.Integer(), nullable=True),
        sa.Column("comment", sa.Text(), nullable=False),
        sa.Column("base_epoch", sa.BigInteger(), nullable=False),
        sa.Column("base_version", sa.Integer(), nullable=True),
        sa.Column("stream_version", sa.Integer(), nullable=False),
        sa.Column("warnings", sa.Text(), nullable=False),
        sa.Column("example_count", sa.Integer(), nullable=False),
        sa.Column("author", sa.String(length=100), nullable=False),
        sa.Column("author_identity", sa.String(length=100), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("edited_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("comment_count", sa.Integer(), nullable=False),
        sa.Column("closed_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("closed_by", sa.String(length=100), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("published_version", sa.Integer(), nullable=True),
        sa.Column("published_epoch", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["stream"], ["streams.name"], name=op.f("fk_proposals_stream_streams")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_proposals")),
    )
    for columns in (["stream", "state", "id"], ["processor_id", "id"]):
        op.create_index(op.f(f"ix_proposals_{'_'.join(columns)}"), "proposals", columns)
    op.create_table(
        "proposal_approvals",
        sa.Column("proposal_id", _ID, nullable=False),
        sa.Column("person", sa.String(length=100), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("token_id", sa.String(length=16), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["proposal_id"],
            ["proposals.id"],
            name=op.f("fk_proposal_approvals_proposal_id_proposals"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("proposal_id", "person", name=op.f("pk_proposal_approvals")),
    )
    op.create_table(
        "proposal_comments",
        sa.Column("proposal_id", _ID, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.Column("author", sa.String(length=100), nullable=False),
        sa.Column("author_id", sa.String(length=16), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["proposal_id"],
            ["proposals.id"],
            name=op.f("fk_proposal_comments_proposal_id_proposals"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("proposal_id", "number", name=op.f("pk_proposal_comments")),
    )


def downgrade() -> None:
    op.drop_table("proposal_comments")
    op.drop_table("proposal_approvals")
    op.drop_table("proposals")
    with op.batch_alter_table("streams") as streams:
        streams.drop_column("required_approvals")
    with op.batch_alter_table("tokens") as tokens:
        tokens.drop_column("person")

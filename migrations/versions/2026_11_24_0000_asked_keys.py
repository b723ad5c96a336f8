"""Keys that somebody asks about, and what jobs tell of them."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

_NAME = sa.String().with_variant(sa.String(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "asked_keys",
        sa.Column("id", sa.String(length=16), nullable=False),
        sa.Column("stream", _NAME, nullable=False),
        sa.Column("processor_id", _NAME, nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("until_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["stream"], ["streams.name"]),
        sa.ForeignKeyConstraint(["processor_id"], ["processors.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_asked_keys_stream_until_ms", "asked_keys", ["stream", "until_ms"])
    op.create_table(
        "key_answers",
        sa.Column("asked_id", sa.String(length=16), nullable=False),
        sa.Column("job_id", sa.String(length=16), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("answered_at_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["asked_id"], ["asked_keys.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("asked_id", "job_id"),
    )


def downgrade() -> None:
    op.drop_table("key_answers")
    op.drop_table("asked_keys")

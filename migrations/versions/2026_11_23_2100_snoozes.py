"""Rules that are snoozed, for one key or all."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

_NAME = sa.String().with_variant(sa.String(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "snoozes",
        sa.Column(
            "number",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("stream", _NAME, nullable=False),
        sa.Column("processor_id", _NAME, nullable=False),
        sa.Column("key_text", sa.Text()),
        sa.Column("until_ms", sa.BigInteger(), nullable=False),
        sa.Column("from_epoch", sa.BigInteger(), nullable=False),
        sa.Column("until_epoch", sa.BigInteger()),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.String(length=100), nullable=False),
        sa.Column("comment", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["stream"], ["streams.name"]),
        sa.ForeignKeyConstraint(["processor_id"], ["processors.id"]),
        sa.PrimaryKeyConstraint("number"),
    )
    op.create_index("ix_snoozes_stream_until_epoch", "snoozes", ["stream", "until_epoch"])
    op.create_index(
        "ix_snoozes_processor_id_until_epoch", "snoozes", ["processor_id", "until_epoch"]
    )


def downgrade() -> None:
    op.drop_table("snoozes")

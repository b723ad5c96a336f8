"""What matches stand for, and how many others one stood for in a job."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

_NAME = sa.String().with_variant(sa.String(collation="C"), "postgresql")
_COUNTED = ("jobs", "held_versions", "job_buckets", "processor_buckets")


def upgrade() -> None:
    for table in _COUNTED:
        with op.batch_alter_table(table) as counted:
            counted.add_column(
                sa.Column("grouped", sa.BigInteger(), server_default="0", nullable=False)
            )
    with op.batch_alter_table("matches") as matches:
        matches.add_column(
            sa.Column("group_id", sa.String(length=64), server_default="", nullable=False)
        )
        matches.add_column(sa.Column("group_change", sa.BigInteger()))
        matches.add_column(sa.Column("stands_for", sa.Text()))
        matches.create_index("ix_matches_stream_group_change", ["stream", "group_change"])
    op.create_table(
        "waiting_groups",
        sa.Column("stream", _NAME, nullable=False),
        sa.Column("match_id", sa.String(length=128), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("stands_for", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["stream"], ["streams.name"]),
        sa.PrimaryKeyConstraint("stream", "match_id"),
        sa.UniqueConstraint("stream", "number"),
    )


def downgrade() -> None:
    op.drop_table("waiting_groups")
    with op.batch_alter_table("matches") as matches:
        matches.drop_index("ix_matches_stream_group_change")
        matches.drop_column("stands_for")
        matches.drop_column("group_change")
        matches.drop_column("group_id")
    for table in _COUNTED:
        with op.batch_alter_table(table) as counted:
            counted.drop_column("grouped")

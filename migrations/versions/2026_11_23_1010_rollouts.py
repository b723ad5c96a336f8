"""Versions tried beside the published one and how they compare; matches that did not go out."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_NAME = sa.String().with_variant(sa.String(collation="C"), "postgresql")
_COUNTED = ("jobs", "held_versions", "job_buckets", "processor_buckets")
_COUNTERS = ("shadow", "suppressed")


def upgrade() -> None:
    for name in _COUNTED:
        with op.batch_alter_table(name) as table:
            for counter in _COUNTERS:
                table.add_column(
                    sa.Column(counter, sa.BigInteger(), nullable=False, server_default="0")
                )
    with op.batch_alter_table("publications") as publications:
        publications.add_column(sa.Column("share", sa.Integer()))
    with op.batch_alter_table("processors") as processors:
        processors.add_column(
            sa.Column("current_version", sa.Integer(), nullable=False, server_default="0")
        )
    op.execute("UPDATE processors SET current_version = latest_version")
    op.create_table(
        "compared_finds",
        sa.Column("stream", _NAME, nullable=False),
        sa.Column("processor_id", _NAME, nullable=False),
        sa.Column("tried_version", sa.Integer(), nullable=False),
        sa.Column("job", _NAME, nullable=False),
        sa.Column("identity", sa.String(length=64), nullable=False),
        sa.Column("by_published", sa.Boolean(), nullable=False),
        sa.Column("by_tried", sa.Boolean(), nullable=False),
        sa.Column("match_id", sa.String(length=128), nullable=False),
        sa.Column("key_text", _NAME, nullable=False),
        sa.Column("start_ms", sa.BigInteger(), nullable=False),
        sa.Column("end_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["processor_id"],
            ["processors.id"],
            name=op.f("fk_compared_finds_processor_id_processors"),
        ),
        sa.ForeignKeyConstraint(
            ["stream"], ["streams.name"], name=op.f("fk_compared_finds_stream_streams")
        ),
        sa.PrimaryKeyConstraint(
            "processor_id", "tried_version", "job", "identity", name=op.f("pk_compared_finds")
        ),
    )


def downgrade() -> None:
    op.drop_table("compared_finds")
    # What was only tried cannot be published in its stead.
    op.execute("DELETE FROM publications WHERE share IS NOT NULL")
    with op.batch_alter_table("processors") as processors:
        processors.drop_column("current_version")
    with op.batch_alter_table("publications") as publications:
        publications.drop_column("share")
    for name in _COUNTED:
        with op.batch_alter_table(name) as table:
            for counter in reversed(_COUNTERS):
                table.drop_column(counter)

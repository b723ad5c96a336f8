"""Backtests that are asked for, and the workers that run them."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

_NAME = sa.String().with_variant(sa.String(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "backtests",
        sa.Column(
            "number",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("stream", _NAME, nullable=False),
        sa.Column("processor_id", _NAME, nullable=False),
        sa.Column("version", sa.Integer()),
        sa.Column("content_hash", sa.String(length=64), nullable=False),
        sa.Column("against_version", sa.Integer()),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("against", sa.Text()),
        sa.Column("from_ms", sa.BigInteger()),
        sa.Column("until_ms", sa.BigInteger()),
        sa.Column("closes_windows", sa.Boolean(), nullable=False),
        sa.Column("takes_labels", sa.Boolean(), nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.String(length=100), nullable=False),
        sa.Column("worker", sa.String(length=100), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("turn_ends_ms", sa.BigInteger()),
        sa.Column("started_at_ms", sa.BigInteger()),
        sa.Column("ended_at_ms", sa.BigInteger()),
        sa.Column("events_done", sa.BigInteger(), nullable=False),
        sa.Column("events_total", sa.BigInteger(), nullable=False),
        sa.Column("matches", sa.BigInteger()),
        sa.Column("gained", sa.BigInteger()),
        sa.Column("lost", sa.BigInteger()),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("report", sa.Text()),
        sa.ForeignKeyConstraint(
            ["stream"], ["streams.name"], name=op.f("fk_backtests_stream_streams")
        ),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_backtests")),
    )
    for columns in (("stream", "state", "number"), ("stream", "processor_id", "number")):
        op.create_index(op.f(f"ix_backtests_{'_'.join(columns)}"), "backtests", list(columns))
    op.create_table(
        "backtest_workers",
        sa.Column("stream", _NAME, nullable=False),
        sa.Column("name", _NAME, nullable=False),
        sa.Column("seen_at_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["stream"], ["streams.name"], name=op.f("fk_backtest_workers_stream_streams")
        ),
        sa.PrimaryKeyConstraint("stream", "name", name=op.f("pk_backtest_workers")),
    )


def downgrade() -> None:
    op.drop_table("backtest_workers")
    op.drop_table("backtests")

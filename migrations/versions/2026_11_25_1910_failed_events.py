"""Where in the events versions failed whose quarantines are in the log."""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None

_NAME = sa.String().with_variant(sa.String(collation="C"), "postgresql")
_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "failed_events",
        sa.Column("change_id", _ID, sa.ForeignKey("changes.id"), primary_key=True),
        sa.Column("processor_id", _NAME, nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
    )
    op.create_index(None, "failed_events", ["processor_id", "change_id"])


def downgrade() -> None:
    op.drop_table("failed_events")

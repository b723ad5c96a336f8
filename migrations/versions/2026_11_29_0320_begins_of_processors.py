"""When the last of what is published of a processor begins, rather than that something does."""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None

_SET_BEGINS = """
UPDATE processors SET begins_ms = (
    SELECT MAX(v.effective_from_ms) FROM publications p
    JOIN processor_versions v ON v.processor_id = p.processor_id AND v.version = p.version
    WHERE p.processor_id = processors.id AND p.until_epoch IS NULL AND p.share IS NULL
)
"""


def upgrade() -> None:
    op.add_column("processors", sa.Column("begins_ms", sa.BigInteger()))
    op.execute(_SET_BEGINS)
    op.execute("UPDATE processors SET state = 'published' WHERE state = 'scheduled'")


def downgrade() -> None:
    is_scheduled = "state = 'published' AND begins_ms IS NOT NULL"
    op.execute(f"UPDATE processors SET state = 'scheduled' WHERE {is_scheduled}")  # noqa: S608
    op.drop_column("processors", "begins_ms")

"""What a job leaves out because of a limit, and the partial matches that a change drops."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_TABLES = ("jobs", "held_versions", "job_buckets", "processor_buckets")
_COUNTERS = ("left_out", "dropped")


def upgrade() -> None:
    for name in _TABLES:
        with op.batch_alter_table(name) as table:
            for counter in _COUNTERS:
                table.add_column(
                    sa.Column(counter, sa.BigInteger(), nullable=False, server_default="0")
                )


def downgrade() -> None:
    for name in _TABLES:
        with op.batch_alter_table(name) as table:
            for counter in reversed(_COUNTERS):
                table.drop_column(counter)

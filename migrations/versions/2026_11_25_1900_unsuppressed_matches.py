"""The matches that went out because suppression had no place for them."""

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0029"
branch_labels = None
depends_on = None

_COUNTED = ("jobs", "held_versions", "job_buckets", "processor_buckets")


def upgrade() -> None:
    for table in _COUNTED:
        with op.batch_alter_table(table) as counted:
            counted.add_column(
                sa.Column("unsuppressed", sa.BigInteger(), server_default="0", nullable=False)
            )


def downgrade() -> None:
    for table in _COUNTED:
        with op.batch_alter_table(table) as counted:
            counted.drop_column("unsuppressed")

"""The complete matches that come out where a version ends."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

_COUNTED = ("jobs", "held_versions", "job_buckets", "processor_buckets")


def upgrade() -> None:
    for table in _COUNTED:
        with op.batch_alter_table(table) as counted:
            counted.add_column(
                sa.Column("released", sa.BigInteger(), server_default="0", nullable=False)
            )


def downgrade() -> None:
    for table in _COUNTED:
        with op.batch_alter_table(table) as counted:
            counted.drop_column("released")

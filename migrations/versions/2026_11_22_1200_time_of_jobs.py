"""What makes the time of a job go on, and since when its source is silent."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("jobs") as jobs:
        jobs.add_column(sa.Column("time_mode", sa.String(length=20)))
        jobs.add_column(sa.Column("silent_since_ms", sa.BigInteger()))


def downgrade() -> None:
    with op.batch_alter_table("jobs") as jobs:
        jobs.drop_column("silent_since_ms")
        jobs.drop_column("time_mode")

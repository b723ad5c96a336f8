"""How many events a job could not read, and why."""

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("jobs") as jobs:
        jobs.add_column(
            sa.Column("malformed_events", sa.BigInteger(), nullable=False, server_default="0")
        )
        jobs.add_column(sa.Column("malformed_reason", sa.Text(), nullable=False, server_default=""))


def downgrade() -> None:
    with op.batch_alter_table("jobs") as jobs:
        jobs.drop_column("malformed_reason")
        jobs.drop_column("malformed_events")

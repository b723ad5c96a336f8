"""How far each source of a job with several has come."""

import sqlalchemy as sa
from alembic import op

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("jobs", sa.Column("sources", sa.Text(), nullable=False, server_default="[]"))


def downgrade() -> None:
    op.drop_column("jobs", "sources")

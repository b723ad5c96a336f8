"""By which token a key was asked about, so that none of them takes all questions of a stream."""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("asked_keys") as asked:
        asked.add_column(
            sa.Column("asked_by", sa.String(length=32), server_default="", nullable=False)
        )


def downgrade() -> None:
    with op.batch_alter_table("asked_keys") as asked:
        asked.drop_column("asked_by")

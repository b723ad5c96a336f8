"""Which token made a change: names of tokens are not unique."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("changes") as changes:
        changes.add_column(
            sa.Column("actor_id", sa.String(length=16), nullable=False, server_default="")
        )


def downgrade() -> None:
    with op.batch_alter_table("changes") as changes:
        changes.drop_column("actor_id")

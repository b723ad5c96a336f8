"""How far the partial matches of a version get, step by step."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("held_versions") as held:
        held.add_column(sa.Column("steps", sa.Text(), nullable=False, server_default="[]"))


def downgrade() -> None:
    with op.batch_alter_table("held_versions") as held:
        held.drop_column("steps")

"""Why versions of rules run in Python in a job."""

import sqlalchemy as sa
from alembic import op

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("held_versions") as held:
        held.add_column(
            sa.Column("interpreted_reason", sa.Text(), nullable=False, server_default="")
        )


def downgrade() -> None:
    with op.batch_alter_table("held_versions") as held:
        held.drop_column("interpreted_reason")

"""Whether a stream asks for approvals of changes of its lists, too."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("streams") as streams:
        streams.add_column(
            sa.Column(
                "lists_need_approvals", sa.Boolean(), nullable=False, server_default=sa.true()
            )
        )


def downgrade() -> None:
    with op.batch_alter_table("streams") as streams:
        streams.drop_column("lists_need_approvals")

"""Questions about one key, which workers answer from the archive as they run backtests."""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("backtests") as backtests:
        backtests.add_column(sa.Column("question", sa.Text(), nullable=True))


def downgrade() -> None:
    op.execute("DELETE FROM backtests WHERE question IS NOT NULL")
    with op.batch_alter_table("backtests") as backtests:
        backtests.drop_column("question")

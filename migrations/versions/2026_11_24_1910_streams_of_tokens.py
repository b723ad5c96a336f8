"""To which streams a token is confined: a list in JSON, or nothing for all of them."""

import time

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("tokens") as tokens:
        tokens.add_column(sa.Column("streams", sa.Text(), nullable=True))


def downgrade() -> None:
    # Without the column they would reach all streams.
    tokens = sa.table(
        "tokens", sa.column("streams", sa.Text()), sa.column("revoked_at_ms", sa.BigInteger())
    )
    confined = tokens.c.streams.is_not(None) & tokens.c.revoked_at_ms.is_(None)
    now_ms = time.time_ns() // 1_000_000
    op.execute(tokens.update().where(confined).values(revoked_at_ms=now_ms))
    with op.batch_alter_table("tokens") as altered:
        altered.drop_column("streams")

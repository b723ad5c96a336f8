"""Changes that were made under a key of their author, with what was answered."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "idempotent_requests",
        sa.Column("token_id", sa.String(length=16), nullable=False),
        sa.Column("key_sha256", sa.String(length=64), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("headers", sa.Text(), nullable=False),
        sa.Column("body", sa.Text()),
        sa.PrimaryKeyConstraint("token_id", "key_sha256"),
    )
    op.create_index(
        "ix_idempotent_requests_created_at_ms", "idempotent_requests", ["created_at_ms"]
    )


def downgrade() -> None:
    op.drop_table("idempotent_requests")

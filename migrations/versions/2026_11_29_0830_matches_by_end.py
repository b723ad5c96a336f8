"""An index for lists of matches by event time."""

from alembic import op

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(None, "matches", ["stream", "end_ms", "number"])


def downgrade() -> None:
    op.drop_index("ix_matches_stream_end_ms_number", "matches")

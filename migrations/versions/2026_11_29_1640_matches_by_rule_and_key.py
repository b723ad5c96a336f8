"""An index for lists of the matches that a rule has found for a key."""

from alembic import op

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(None, "matches", ["stream", "processor_id", "key_text", "number"])


def downgrade() -> None:
    op.drop_index("ix_matches_stream_processor_id_key_text_number", "matches")

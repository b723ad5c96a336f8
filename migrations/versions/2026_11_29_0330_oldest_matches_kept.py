"""An index that finds the oldest match of a rule that is kept."""

from alembic import op

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(None, "matches", ["stream", "processor_id", "kind", "number"])


def downgrade() -> None:
    op.drop_index("ix_matches_stream_processor_id_kind_number", "matches")

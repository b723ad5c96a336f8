"""What outlasts restarts of a job: when processors last matched in it, which outputs failed."""

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None

_NAME = sa.String().with_variant(sa.String(collation="C"), "postgresql")


def upgrade() -> None:
    job_id = sa.ForeignKey("jobs.id", ondelete="CASCADE")
    op.create_table(
        "last_matches",
        sa.Column("job_id", sa.String(16), job_id, primary_key=True),
        sa.Column("processor_id", _NAME, primary_key=True),
        sa.Column("end_ms", sa.BigInteger(), nullable=False),
    )
    op.execute(
        "INSERT INTO last_matches SELECT job_id, processor_id, max(last_match_ms) "
        "FROM held_versions WHERE last_match_ms IS NOT NULL GROUP BY job_id, processor_id"
    )
    op.add_column(
        "jobs", sa.Column("failing_outputs", sa.Text(), nullable=False, server_default="[]")
    )


def downgrade() -> None:
    op.drop_column("jobs", "failing_outputs")
    op.drop_table("last_matches")

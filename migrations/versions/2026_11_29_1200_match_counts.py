"""Counts of matches by rule, version, kind and status; the indexes that counting read go."""

import sqlalchemy as sa
from alembic import op

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None

_NAME = sa.String().with_variant(sa.String(collation="C"), "postgresql")
_DECIDED = """
    INSERT INTO match_counts (stream, processor_id, kind, version, status, present, total)
    SELECT stream, processor_id, kind, version, status, sum(is_there), count(*)
    FROM (
        SELECT stream, processor_id, kind, version, status,
            CASE WHEN EXISTS (
                SELECT 1 FROM matches m WHERE m.stream = t.stream AND m.match_id = t.match_id
            ) THEN 1 ELSE 0 END AS is_there
        FROM match_triage t WHERE status <> 'open'
    ) decided
    GROUP BY stream, processor_id, kind, version, status
"""
_OPEN = """
    INSERT INTO match_counts (stream, processor_id, kind, version, status, present, total)
    SELECT stream, processor_id, kind, version, 'open', count(*), count(*)
    FROM matches m
    WHERE NOT EXISTS (
        SELECT 1 FROM match_triage t
        WHERE t.stream = m.stream AND t.match_id = m.match_id AND t.status <> 'open'
    )
    GROUP BY stream, processor_id, kind, version
"""


def upgrade() -> None:
    op.create_table(
        "match_counts",
        sa.Column("stream", _NAME, sa.ForeignKey("streams.name"), primary_key=True),
        sa.Column("processor_id", _NAME, primary_key=True),
        sa.Column("kind", sa.String(16), primary_key=True),
        sa.Column("version", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("status", sa.String(16), primary_key=True),
        sa.Column("present", sa.BigInteger(), nullable=False),
        sa.Column("total", sa.BigInteger(), nullable=False),
    )
    op.execute(_DECIDED)
    op.execute(_OPEN)
    op.create_index(None, "match_triage", ["stream", "assignee"])
    op.drop_index("ix_matches_stream_processor_id_kind_match_id", "matches")
    op.drop_index("ix_match_triage_stream_match_id_status", "match_triage")


def downgrade() -> None:
    op.create_index(None, "match_triage", ["stream", "match_id", "status"])
    op.create_index(None, "matches", ["stream", "processor_id", "kind", "match_id"])
    op.drop_index("ix_match_triage_stream_assignee", "match_triage")
    op.drop_table("match_counts")

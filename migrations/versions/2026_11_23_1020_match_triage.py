"""What people make of matches: status, assignee, notes."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_NAME = sa.String().with_variant(sa.String(collation="C"), "postgresql")


def upgrade() -> None:
    with op.batch_alter_table("match_logs") as logs:
        logs.add_column(
            sa.Column("newest_change", sa.BigInteger(), nullable=False, server_default="0")
        )
    op.create_index(
        op.f("ix_matches_stream_processor_id_kind_match_id"),
        "matches",
        ["stream", "processor_id", "kind", "match_id"],
    )
    op.create_table(
        "match_triage",
        sa.Column("stream", _NAME, nullable=False),
        sa.Column("match_id", sa.String(length=128), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("assignee", sa.String(length=100), nullable=False),
        sa.Column("change", sa.BigInteger(), nullable=False),
        sa.Column("changed_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("decided_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("decided_by", sa.String(length=100), nullable=False),
        sa.Column("note_count", sa.Integer(), nullable=False),
        sa.Column("job", _NAME, nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("processor_id", _NAME, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("start_ms", sa.BigInteger(), nullable=False),
        sa.Column("end_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["stream"], ["streams.name"], name=op.f("fk_match_triage_stream_streams")
        ),
        sa.PrimaryKeyConstraint("stream", "match_id", name=op.f("pk_match_triage")),
        sa.UniqueConstraint("stream", "change", name=op.f("uq_match_triage_stream_change")),
    )
    for columns in (
        ["stream", "processor_id", "kind", "status"],
        ["stream", "match_id", "status"],
        ["stream", "changed_at_ms"],
        ["stream", "end_ms", "match_id"],
    ):
        op.create_index(op.f(f"ix_match_triage_{'_'.join(columns)}"), "match_triage", columns)
    op.create_table(
        "match_notes",
        sa.Column("stream", _NAME, nullable=False),
        sa.Column("match_id", sa.String(length=128), nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.Column("author", sa.String(length=100), nullable=False),
        sa.Column("author_id", sa.String(length=16), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["stream", "match_id"],
            ["match_triage.stream", "match_triage.match_id"],
            name=op.f("fk_match_notes_stream_match_triage"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("stream", "match_id", "number", name=op.f("pk_match_notes")),
    )


def downgrade() -> None:
    op.drop_table("match_notes")
    op.drop_table("match_triage")
    op.drop_index(op.f("ix_matches_stream_processor_id_kind_match_id"), "matches")
    with op.batch_alter_table("match_logs") as logs:
        logs.drop_column("newest_change")

"""jobs matches."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_NAME = sa.String().with_variant(sa.String(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(length=16), nullable=False),
        sa.Column("stream", _NAME, nullable=False),
        sa.Column("name", _NAME, nullable=False),
        sa.Column("instance_id", sa.String(length=64), nullable=False),
        sa.Column("properties", sa.Text(), nullable=False),
        sa.Column("registered_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("heartbeat_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("stopped_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("stop_reason", sa.Text(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=True),
        sa.Column("batch_id", sa.BigInteger(), nullable=True),
        sa.Column("watermark_ms", sa.BigInteger(), nullable=True),
        sa.Column("newest_event_ms", sa.BigInteger(), nullable=True),
        sa.Column("events_per_second", sa.Float(), nullable=False),
        sa.Column("batch_duration_ms", sa.BigInteger(), nullable=True),
        sa.Column("backlog_events", sa.BigInteger(), nullable=True),
        sa.Column("partial_matches", sa.BigInteger(), nullable=False),
        sa.Column("state_bytes", sa.BigInteger(), nullable=False),
        sa.Column("events", sa.BigInteger(), nullable=False),
        sa.Column("matches", sa.BigInteger(), nullable=False),
        sa.Column("timeouts", sa.BigInteger(), nullable=False),
        sa.Column("errors", sa.BigInteger(), nullable=False),
        sa.Column("late", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["stream"], ["streams.name"], name=op.f("fk_jobs_stream_streams")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
        sa.UniqueConstraint("stream", "name", name=op.f("uq_jobs_stream_name")),
    )
    op.create_table(
        "match_logs",
        sa.Column("stream", _NAME, nullable=False),
        sa.Column("newest", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["stream"], ["streams.name"], name=op.f("fk_match_logs_stream_streams")
        ),
        sa.PrimaryKeyConstraint("stream", name=op.f("pk_match_logs")),
    )
    op.create_table(
        "matches",
        sa.Column("stream", _NAME, nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("match_id", sa.String(length=128), nullable=False),
        sa.Column("job", _NAME, nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("processor_id", _NAME, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("key_text", _NAME, nullable=False),
        sa.Column("start_ms", sa.BigInteger(), nullable=False),
        sa.Column("end_ms", sa.BigInteger(), nullable=False),
        sa.Column("received_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("output", sa.Text(), nullable=False),
        sa.Column("events", sa.Text(), nullable=False),
        sa.Column("event_count", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["stream"], ["streams.name"], name=op.f("fk_matches_stream_streams")
        ),
        sa.PrimaryKeyConstraint("stream", "number", name=op.f("pk_matches")),
        sa.UniqueConstraint("stream", "match_id", name=op.f("uq_matches_stream_match_id")),
    )
    with op.batch_alter_table("matches") as batch_op:
        batch_op.create_index(
            batch_op.f("ix_matches_stream_key_text_number"),
            ["stream", "key_text", "number"],
            unique=False,
        )
        batch_op.create_index(
            batch_op.f("ix_matches_stream_processor_id_number"),
            ["stream", "processor_id", "number"],
            unique=False,
        )

    op.create_table(
        "held_versions",
        sa.Column("job_id", sa.String(length=16), nullable=False),
        sa.Column("processor_id", _NAME, nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("since_ms", sa.BigInteger(), nullable=False),
        sa.Column("reported_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("active_from_ms", sa.BigInteger(), nullable=True),
        sa.Column("active_until_ms", sa.BigInteger(), nullable=True),
        sa.Column("partial_matches", sa.BigInteger(), nullable=False),
        sa.Column("state_bytes", sa.BigInteger(), nullable=False),
        sa.Column("last_match_ms", sa.BigInteger(), nullable=True),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("traceback", sa.Text(), nullable=False),
        sa.Column("events", sa.BigInteger(), nullable=False),
        sa.Column("matches", sa.BigInteger(), nullable=False),
        sa.Column("timeouts", sa.BigInteger(), nullable=False),
        sa.Column("errors", sa.BigInteger(), nullable=False),
        sa.Column("late", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["job_id"], ["jobs.id"], name=op.f("fk_held_versions_job_id_jobs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("job_id", "processor_id", "version", name=op.f("pk_held_versions")),
    )
    op.create_table(
        "job_buckets",
        sa.Column("job_id", sa.String(length=16), nullable=False),
        sa.Column("start_ms", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("watermark_delay_ms", sa.BigInteger(), nullable=True),
        sa.Column("batch_duration_ms", sa.BigInteger(), nullable=True),
        sa.Column("backlog_events", sa.BigInteger(), nullable=True),
        sa.Column("partial_matches", sa.BigInteger(), nullable=True),
        sa.Column("state_bytes", sa.BigInteger(), nullable=True),
        sa.Column("events", sa.BigInteger(), nullable=False),
        sa.Column("matches", sa.BigInteger(), nullable=False),
        sa.Column("timeouts", sa.BigInteger(), nullable=False),
        sa.Column("errors", sa.BigInteger(), nullable=False),
        sa.Column("late", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["job_id"], ["jobs.id"], name=op.f("fk_job_buckets_job_id_jobs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("job_id", "start_ms", name=op.f("pk_job_buckets")),
    )
    op.create_table(
        "job_instances",
        sa.Column("job_id", sa.String(length=16), nullable=False),
        sa.Column("instance_id", sa.String(length=64), nullable=False),
        sa.Column("registered_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("ended_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("end_reason", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["job_id"], ["jobs.id"], name=op.f("fk_job_instances_job_id_jobs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("job_id", "instance_id", name=op.f("pk_job_instances")),
    )
    op.create_table(
        "processor_buckets",
        sa.Column("job_id", sa.String(length=16), nullable=False),
        sa.Column("start_ms", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("processor_id", _NAME, nullable=False),
        sa.Column("events", sa.BigInteger(), nullable=False),
        sa.Column("matches", sa.BigInteger(), nullable=False),
        sa.Column("timeouts", sa.BigInteger(), nullable=False),
        sa.Column("errors", sa.BigInteger(), nullable=False),
        sa.Column("late", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["job_id"],
            ["jobs.id"],
            name=op.f("fk_processor_buckets_job_id_jobs"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "job_id", "start_ms", "processor_id", name=op.f("pk_processor_buckets")
        ),
    )
    with op.batch_alter_table("processor_buckets") as batch_op:
        batch_op.create_index(
            batch_op.f("ix_processor_buckets_job_id_processor_id_start_ms"),
            ["job_id", "processor_id", "start_ms"],
            unique=False,
        )


def downgrade() -> None:
    with op.batch_alter_table("processor_buckets") as batch_op:
        batch_op.drop_index(batch_op.f("ix_processor_buckets_job_id_processor_id_start_ms"))

    op.drop_table("processor_buckets")
    op.drop_table("job_instances")
    op.drop_table("job_buckets")
    op.drop_table("held_versions")
    with op.batch_alter_table("matches") as batch_op:
        batch_op.drop_index(batch_op.f("ix_matches_stream_processor_id_number"))
        batch_op.drop_index(batch_op.f("ix_matches_stream_key_text_number"))

    op.drop_table("matches")
    op.drop_table("match_logs")
    op.drop_table("jobs")

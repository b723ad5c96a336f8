"""streams processors changes tokens."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_NAME = sa.String().with_variant(sa.String(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "streams",
        sa.Column("name", _NAME, nullable=False),
        sa.Column("uid", sa.String(length=16), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.String(length=100), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_streams")),
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.String(length=100), nullable=False),
        sa.Column("expires_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("revoked_at_ms", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tokens")),
        sa.UniqueConstraint("sha256", name=op.f("uq_tokens_sha256")),
    )
    op.create_table(
        "changes",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.String(length=100), nullable=False),
        sa.Column("action", sa.String(length=40), nullable=False),
        sa.Column(
            "stream",
            _NAME,
            nullable=True,
        ),
        sa.Column("epoch", sa.BigInteger(), nullable=True),
        sa.Column(
            "processor_id",
            _NAME,
            nullable=True,
        ),
        sa.Column("old_version", sa.Integer(), nullable=True),
        sa.Column("new_version", sa.Integer(), nullable=True),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("comment", sa.Text(), nullable=False),
        sa.Column("request_id", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(
            ["stream"], ["streams.name"], name=op.f("fk_changes_stream_streams")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_changes")),
        sa.UniqueConstraint("stream", "epoch", name=op.f("uq_changes_stream_epoch")),
    )
    with op.batch_alter_table("changes") as batch_op:
        batch_op.create_index(batch_op.f("ix_changes_at_ms"), ["at_ms"], unique=False)
        batch_op.create_index(
            batch_op.f("ix_changes_processor_id_id"), ["processor_id", "id"], unique=False
        )

    op.create_table(
        "processors",
        sa.Column("id", _NAME, nullable=False),
        sa.Column(
            "stream",
            _NAME,
            nullable=False,
        ),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("latest_version", sa.Integer(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column(
            "owner",
            _NAME,
            nullable=False,
        ),
        sa.Column("severity", sa.String(length=16), nullable=False),
        sa.Column("warning_count", sa.Integer(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.String(length=100), nullable=False),
        sa.Column("updated_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("updated_by", sa.String(length=100), nullable=False),
        sa.ForeignKeyConstraint(
            ["stream"], ["streams.name"], name=op.f("fk_processors_stream_streams")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_processors")),
    )
    with op.batch_alter_table("processors") as batch_op:
        batch_op.create_index(batch_op.f("ix_processors_stream_id"), ["stream", "id"], unique=False)
        batch_op.create_index(
            batch_op.f("ix_processors_updated_at_ms_id"), ["updated_at_ms", "id"], unique=False
        )

    op.create_table(
        "stream_versions",
        sa.Column(
            "stream",
            _NAME,
            nullable=False,
        ),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("definition", sa.Text(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.String(length=100), nullable=False),
        sa.ForeignKeyConstraint(
            ["stream"], ["streams.name"], name=op.f("fk_stream_versions_stream_streams")
        ),
        sa.PrimaryKeyConstraint("stream", "version", name=op.f("pk_stream_versions")),
    )
    op.create_table(
        "processor_tags",
        sa.Column(
            "processor_id",
            _NAME,
            nullable=False,
        ),
        sa.Column("tag", _NAME, nullable=False),
        sa.ForeignKeyConstraint(
            ["processor_id"],
            ["processors.id"],
            name=op.f("fk_processor_tags_processor_id_processors"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("processor_id", "tag", name=op.f("pk_processor_tags")),
    )
    with op.batch_alter_table("processor_tags") as batch_op:
        batch_op.create_index(batch_op.f("ix_processor_tags_tag"), ["tag"], unique=False)

    op.create_table(
        "processor_versions",
        sa.Column(
            "processor_id",
            _NAME,
            nullable=False,
        ),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("definition", sa.Text(), nullable=False),
        sa.Column("examples", sa.Text(), nullable=False),
        sa.Column("warnings", sa.Text(), nullable=False),
        sa.Column("content_hash", sa.String(length=64), nullable=False),
        sa.Column("rule_hash", sa.String(length=64), nullable=False),
        sa.Column("effective_from_ms", sa.BigInteger(), nullable=True),
        sa.Column("effective_until_ms", sa.BigInteger(), nullable=True),
        sa.Column("restored_version", sa.Integer(), nullable=True),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.String(length=100), nullable=False),
        sa.Column("comment", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["processor_id"],
            ["processors.id"],
            name=op.f("fk_processor_versions_processor_id_processors"),
        ),
        sa.PrimaryKeyConstraint("processor_id", "version", name=op.f("pk_processor_versions")),
    )
    with op.batch_alter_table("processor_versions") as batch_op:
        batch_op.create_index(
            batch_op.f("ix_processor_versions_rule_hash"), ["rule_hash"], unique=False
        )

    op.create_table(
        "publications",
        sa.Column(
            "processor_id",
            _NAME,
            nullable=False,
        ),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("from_epoch", sa.BigInteger(), nullable=False),
        sa.Column("until_epoch", sa.BigInteger(), nullable=True),
        sa.Column(
            "stream",
            _NAME,
            nullable=False,
        ),
        sa.Column("paused", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["processor_id", "version"],
            ["processor_versions.processor_id", "processor_versions.version"],
            name=op.f("fk_publications_processor_id_version_processor_versions"),
        ),
        sa.ForeignKeyConstraint(
            ["stream"], ["streams.name"], name=op.f("fk_publications_stream_streams")
        ),
        sa.PrimaryKeyConstraint(
            "processor_id", "version", "from_epoch", name=op.f("pk_publications")
        ),
    )
    with op.batch_alter_table("publications") as batch_op:
        batch_op.create_index(
            batch_op.f("ix_publications_stream_from_epoch"), ["stream", "from_epoch"], unique=False
        )
        batch_op.create_index(
            batch_op.f("ix_publications_stream_until_epoch"),
            ["stream", "until_epoch"],
            unique=False,
        )


def downgrade() -> None:
    with op.batch_alter_table("publications") as batch_op:
        batch_op.drop_index(batch_op.f("ix_publications_stream_until_epoch"))
        batch_op.drop_index(batch_op.f("ix_publications_stream_from_epoch"))

    op.drop_table("publications")
    with op.batch_alter_table("processor_versions") as batch_op:
        batch_op.drop_index(batch_op.f("ix_processor_versions_rule_hash"))

    op.drop_table("processor_versions")
    with op.batch_alter_table("processor_tags") as batch_op:
        batch_op.drop_index(batch_op.f("ix_processor_tags_tag"))

    op.drop_table("processor_tags")
    op.drop_table("stream_versions")
    with op.batch_alter_table("processors") as batch_op:
        batch_op.drop_index(batch_op.f("ix_processors_updated_at_ms_id"))
        batch_op.drop_index(batch_op.f("ix_processors_stream_id"))

    op.drop_table("processors")
    with op.batch_alter_table("changes") as batch_op:
        batch_op.drop_index(batch_op.f("ix_changes_processor_id_id"))
        batch_op.drop_index(batch_op.f("ix_changes_at_ms"))

    op.drop_table("changes")
    op.drop_table("tokens")
    op.drop_table("streams")

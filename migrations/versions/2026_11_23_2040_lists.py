"""Lists of streams: versions, contents, and which versions of rules name them."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

_NAME = sa.String().with_variant(sa.String(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "lists",
        sa.Column("stream", _NAME, nullable=False),
        sa.Column("name", _NAME, nullable=False),
        sa.Column("data_type", sa.String(length=10), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("is_deleted", sa.Boolean(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("latest_version", sa.Integer(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.String(length=100), nullable=False),
        sa.Column("updated_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("updated_by", sa.String(length=100), nullable=False),
        sa.ForeignKeyConstraint(["stream"], ["streams.name"], name=op.f("fk_lists_stream_streams")),
        sa.PrimaryKeyConstraint("stream", "name", name=op.f("pk_lists")),
    )
    op.create_table(
        "list_contents",
        sa.Column("stream", _NAME, nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("compressed", sa.LargeBinary(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["stream"], ["streams.name"], name=op.f("fk_list_contents_stream_streams")
        ),
        sa.PrimaryKeyConstraint("stream", "digest", name=op.f("pk_list_contents")),
    )
    op.create_table(
        "list_versions",
        sa.Column("stream", _NAME, nullable=False),
        sa.Column("name", _NAME, nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("data_type", sa.String(length=10), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("has_content", sa.Boolean(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("added", sa.Integer(), nullable=False),
        sa.Column("removed", sa.Integer(), nullable=False),
        sa.Column("effective_from_ms", sa.BigInteger()),
        sa.Column("from_epoch", sa.BigInteger(), nullable=False),
        sa.Column("until_epoch", sa.BigInteger()),
        sa.Column("restored_version", sa.Integer()),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.String(length=100), nullable=False),
        sa.Column("comment", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["stream", "name"],
            ["lists.stream", "lists.name"],
            name=op.f("fk_list_versions_stream_name_lists"),
        ),
        sa.PrimaryKeyConstraint("stream", "name", "version", name=op.f("pk_list_versions")),
    )
    columns = ["stream", "until_epoch"]
    op.create_index(op.f("ix_list_versions_stream_until_epoch"), "list_versions", columns)
    op.create_table(
        "list_uses",
        sa.Column("processor_id", _NAME, nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", _NAME, nullable=False),
        sa.Column("data_type", sa.String(length=10), nullable=False),
        sa.ForeignKeyConstraint(
            ["processor_id", "version"],
            ["processor_versions.processor_id", "processor_versions.version"],
            name=op.f("fk_list_uses_processor_id_version_processor_versions"),
        ),
        sa.PrimaryKeyConstraint("processor_id", "version", "name", name=op.f("pk_list_uses")),
    )
    op.create_index(op.f("ix_list_uses_name"), "list_uses", ["name"])


def downgrade() -> None:
    for table in ("list_uses", "list_versions", "list_contents", "lists"):
        op.drop_table(table)

"""Changes of lists may be proposed, too."""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None

_NAME = sa.String().with_variant(sa.String(collation="C"), "postgresql")


def upgrade() -> None:
    with op.batch_alter_table("proposals") as table:
        table.add_column(sa.Column("list_name", _NAME, nullable=False, server_default=""))
        table.add_column(sa.Column("effective_from_ms", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    proposals = sa.table("proposals", sa.column("id"), sa.column("list_name"))
    of_lists = sa.select(proposals.c.id).where(proposals.c.list_name != "")
    for name in ("proposal_comments", "proposal_approvals"):
        parts = sa.table(name, sa.column("proposal_id"))
        op.execute(sa.delete(parts).where(parts.c.proposal_id.in_(of_lists)))
    op.execute(sa.delete(proposals).where(proposals.c.list_name != ""))
    with op.batch_alter_table("proposals") as table:
        table.drop_column("effective_from_ms")
        table.drop_column("list_name")

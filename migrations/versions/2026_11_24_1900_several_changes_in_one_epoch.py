"""Several changes may be made as one epoch of their stream."""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("changes") as changes:
        changes.drop_constraint(op.f("uq_changes_stream_epoch"), type_="unique")
        changes.create_index(op.f("ix_changes_stream_epoch"), ["stream", "epoch"])


def downgrade() -> None:
    # Of changes that were made as one, the first keeps the epoch: it cannot be that of several.
    log = sa.table("changes", *map(sa.column, ("id", "stream", "epoch")))
    first = sa.select(sa.func.min(log.c.id)).where(log.c.epoch.is_not(None))
    others = log.c.epoch.is_not(None), log.c.id.not_in(first.group_by(log.c.stream, log.c.epoch))
    op.execute(sa.update(log).where(*others).values(epoch=None))
    with op.batch_alter_table("changes") as changes:
        changes.drop_index(op.f("ix_changes_stream_epoch"))
        changes.create_unique_constraint(op.f("uq_changes_stream_epoch"), ["stream", "epoch"])

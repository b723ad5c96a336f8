"""Until when a version is throttled in a job."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("held_versions") as held_versions:
        held_versions.add_column(sa.Column("throttled_until_ms", sa.BigInteger()))


def downgrade() -> None:
    with op.batch_alter_table("held_versions") as held_versions:
        held_versions.drop_column("throttled_until_ms")

"""Alembic's entry: migrates the store it is handed, or the one `PERCEPT_DATABASE_URL` names."""

from alembic import context
from sqlalchemy import Connection

from api.settings import Settings
from api.store.database import Database, create_missing_file
from api.tables import Record


def _run(connection: Connection) -> None:
    context.configure(
        connection=connection,
        target_metadata=Record.metadata,
        render_as_batch=True,  # SQLite changes a table by copying it
        compare_type=True,
    )
    with context.begin_transaction():
        context.run_migrations()


given: Connection | None = context.config.attributes.get("connection")
if given is not None:
    _run(given)
else:
    engine = Database(Settings().database_url).engine
    create_missing_file(engine.url)
    with engine.begin() as opened:
        _run(opened)

"""The rule store: one engine, reading and writing sessions, migrations; SQLite or PostgreSQL.

A writing session is one transaction, committed by whoever opened it (the edge), never by a slice.
On SQLite it begins with BEGIN IMMEDIATE, so that two writers queue up instead of failing half-way;
on PostgreSQL a writer locks the row of the stream it changes (`api.audit.log`).
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Engine, MetaData, String, create_engine, event, make_url, text
from sqlalchemy.orm import DeclarativeBase, Session, sessionmaker

# Sorted by code point on both back ends, so that pages and snapshots have one order everywhere.
Name = String().with_variant(String(collation="C"), "postgresql")

_BUSY_TIMEOUT_MS = 15_000
_WRITES = "percept_writes"


class Record(DeclarativeBase):
    """The root of all tables; names of constraints are fixed, so that migrations can name them."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


class Database:
    """The rule store behind one URL."""

    def __init__(self, url: str) -> None:
        self.engine = _engine(url)
        self._read = sessionmaker(self.engine, expire_on_commit=False)
        self._write = sessionmaker(
            self.engine.execution_options(**{_WRITES: True}), expire_on_commit=False
        )

    @property
    def is_postgresql(self) -> bool:
        """Whether other processes can be told of a change by NOTIFY."""
        return self.engine.dialect.name == "postgresql"

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Yield a session for reading; what it has seen of the database is let go at the end."""
        with self._read() as session:
            yield session

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """Yield a session that is committed at the end, or rolled back if anything was raised."""
        with self._write.begin() as session:
            yield session

    def is_ready(self) -> bool:
        """Return whether the store answers and has been migrated to this version's tables."""
        with self.engine.connect() as connection:
            connection.execute(text("SELECT 1"))
            return bool(self.engine.dialect.has_table(connection, "streams"))

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def migrate(engine: Engine, revision: str = "head") -> None:
    """Bring the tables of a store to a revision, up or down; `head` is the newest.

    Safe when several processes start at once: on PostgreSQL they queue for an advisory lock, on
    SQLite for the write lock of the file.
    """
    config = Config()
    config.set_main_option("script_location", str(migrations_folder()).replace("%", "%%"))
    with engine.execution_options(**{_WRITES: True}).begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(2026112101)"))
        config.attributes["connection"] = connection
        if revision == "base" or revision.startswith("-"):
            command.downgrade(config, revision)
        else:
            command.upgrade(config, revision)


def migrations_folder() -> Path:
    """Return the folder of the Alembic revisions, in an installed wheel or in a checkout."""
    package = Path(__file__).parents[1]
    packaged = package / "_migrations"
    return packaged if packaged.is_dir() else package.parent / "migrations"


def _engine(url: str) -> Engine:
    parsed = make_url(url)
    if parsed.get_backend_name() == "postgresql":
        # One connection for every worker thread (40), so that none ever waits for another's.
        return create_engine(
            parsed.set(drivername="postgresql+psycopg"),
            pool_size=10,
            max_overflow=40,
            pool_pre_ping=True,
        )
    engine = create_engine(parsed, pool_size=10, max_overflow=40)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: sqlite3.Connection, _record: Any) -> None:
    connection.isolation_level = None  # transactions are begun below, not by the driver
    connection.execute(f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_MS}")
    _use_write_ahead_log(connection)
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Switch a new file over; SQLite does not wait where several processes do so at once."""
    give_up = time.monotonic() + _BUSY_TIMEOUT_MS / 1_000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            if time.monotonic() > give_up:
                raise
            time.sleep(0.02)
        else:
            return


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get(_WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

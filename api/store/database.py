"""The rule store: one engine, reading and writing sessions, migrations; SQLite or PostgreSQL.

A writing session is one transaction, committed by whoever opened it (the edge), never by a slice.
On SQLite it begins with BEGIN IMMEDIATE, so that two writers queue up instead of failing half-way;
on PostgreSQL a writer locks the row of the stream it changes (`api.streams.repository`). Nothing
waits for ever: a lock, a statement, a connection that does not come in time is `StoreUnavailable`.
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import psycopg
from alembic import command
from alembic.config import Config
from sqlalchemy import (
    URL,
    Connection,
    Engine,
    MetaData,
    String,
    create_engine,
    event,
    make_url,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Session, sessionmaker

from api.store.confinement import confine_sessions, opened
from api.store.unavailable import StoreUnavailable, telling_unavailable
from cep.file_trouble import file_trouble
from contract.connections import postgresql_timeouts

# Sorted by code point on both back ends, so that pages and snapshots have one order everywhere.
Name = String().with_variant(String(collation="C"), "postgresql")

LOCK_TIMEOUT_MS: Final = 5_000

_STATEMENT_TIMEOUT_MS: Final = 30_000
_IDLE_TIMEOUT_MS: Final = 60_000
_CONNECT_TIMEOUT_SECONDS: Final = 5
_POOL_TIMEOUT_SECONDS: Final = 5
_POOL_SIZE: Final = 10
_POOL_OVERFLOW: Final = 20
# A peer that has vanished without a word is noticed within this time, not after the hours of TCP.
_SILENCE_TIMEOUT_SECONDS: Final = 10
_WRITES: Final = "percept_writes"


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
        for sessions in (self._read, self._write):
            confine_sessions(sessions, Record.registry)

    @property
    def is_postgresql(self) -> bool:
        """Whether other processes can be notified of a change by NOTIFY."""
        return self.engine.dialect.name == "postgresql"

    @property
    def writers(self) -> int:
        """How many transactions of one process may write at once.

        SQLite knows one writer. On PostgreSQL writers of one stream wait for each other, each with
        a connection, of which enough must be left for reading.
        """
        return 8 if self.is_postgresql else 1

    def reading_session(self) -> Session:
        """Return a session for `reading`; it takes a connection when it is first used."""
        return opened(self._read)

    def writing_session(self) -> Session:
        """Return a session for `writing`; it takes a connection when it is first used."""
        return opened(self._write)

    @contextmanager
    def reading(self, session: Session | None = None) -> Iterator[Session]:
        """Yield a session for reading; its snapshot of the database is released at the end.

        Raises:
            StoreUnavailable: the store cannot be used now.
        """
        with telling_unavailable(), session or self.reading_session() as opened:
            yield opened

    @contextmanager
    def writing(self, session: Session | None = None) -> Iterator[Session]:
        """Yield a session that is committed at the end, or rolled back if anything was raised.

        Raises:
            StoreUnavailable: the store cannot be used now.
        """
        with session or self.writing_session() as opened:
            with telling_unavailable():
                yield opened
                opened.flush()
            with telling_unavailable(may_be_done=True):
                opened.commit()

    def is_ready(self) -> bool:
        """Return whether the store answers and has been migrated to this version's tables.

        Raises:
            StoreUnavailable: the store cannot be used now.
        """
        with telling_unavailable(), self.engine.connect() as connection:
            connection.execute(text("SELECT 1"))
            return bool(self.engine.dialect.has_table(connection, "streams"))

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def migrate(engine: Engine, revision: str = "head") -> None:
    """Bring the tables of a store to a revision, up or down; `head` is the newest.

    Safe when several processes start at once: on PostgreSQL they queue for an advisory lock, on
    SQLite for the write lock of the file. A migration may take as long as it takes.

    Raises:
        StoreUnavailable: the store cannot be used now.
    """
    create_missing_file(engine.url)
    config = Config()
    config.set_main_option("script_location", str(migrations_folder()).replace("%", "%%"))
    writing = engine.execution_options(**{_WRITES: True})
    with telling_unavailable(), writing.begin() as connection:
        if connection.dialect.name == "postgresql":
            for setting in ("lock_timeout", "statement_timeout"):
                connection.execute(text(f"SET LOCAL {setting} = 0"))
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


def create_missing_file(url: URL) -> None:
    """Create the file of a SQLite store, for its owner alone: hashes of tokens are kept in it.

    Raises:
        StoreUnavailable: it cannot be created.
    """
    if url.get_backend_name() == "sqlite" and url.database:
        try:
            Path(url.database).touch(mode=0o600)
        except OSError as error:
            raise StoreUnavailable(f"{url.database}: {file_trouble(error)}") from error


def sqlite_address(url: URL) -> str:
    """Return the address of the file of a SQLite store, which must be there.

    Without this a file that has gone would be replaced by an empty one, and nobody would notice.
    """
    return _existing_file(url.database or "")


def _existing_file(path: str) -> str:
    return f"{Path(path).absolute().as_uri()}?mode=rw"


def _engine(url: str) -> Engine:
    parsed = make_url(url)
    pool = {
        "pool_size": _POOL_SIZE,
        "max_overflow": _POOL_OVERFLOW,
        "pool_timeout": _POOL_TIMEOUT_SECONDS,
    }
    if parsed.get_backend_name() == "postgresql":
        engine = create_engine(
            parsed.set(drivername="postgresql+psycopg"),
            connect_args=store_timeouts(parsed),
            pool_pre_ping=True,
            **pool,
        )
        event.listen(engine, "connect", _prepare_postgresql)
        return engine
    engine = create_engine(parsed, **pool)
    event.listen(engine, "do_connect", _open_existing_file)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def store_timeouts(url: URL) -> dict[str, Any]:
    """Return how long to wait for a server that does not answer, where the URL does not say so."""
    return postgresql_timeouts(_CONNECT_TIMEOUT_SECONDS, _SILENCE_TIMEOUT_SECONDS, url.query)


def _prepare_postgresql(connection: psycopg.Connection[Any], _record: Any) -> None:
    connection.execute(
        "SELECT set_config('lock_timeout', %s, false),"
        " set_config('statement_timeout', %s, false),"
        " set_config('idle_in_transaction_session_timeout', %s, false)",
        (str(LOCK_TIMEOUT_MS), str(_STATEMENT_TIMEOUT_MS), str(_IDLE_TIMEOUT_MS)),
    )
    connection.commit()


def _open_existing_file(
    _dialect: Any, _record: Any, arguments: list[Any], options: dict[str, Any]
) -> None:
    arguments[0] = _existing_file(arguments[0])
    options["uri"] = True


def _prepare_sqlite(connection: sqlite3.Connection, _record: Any) -> None:
    connection.isolation_level = None  # transactions are begun below, not by the driver
    connection.execute(f"PRAGMA busy_timeout = {LOCK_TIMEOUT_MS}")
    _use_write_ahead_log(connection)
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Switch a new file over; SQLite does not wait where several processes do so at once."""
    give_up = time.monotonic() + LOCK_TIMEOUT_MS / 1_000
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

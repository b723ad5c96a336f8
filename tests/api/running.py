"""A running service for tests, on a store of either kind."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest
import structlog
from fastapi import FastAPI
from psycopg import sql
from sqlalchemy import make_url, text
from starlette.routing import BaseRoute
from starlette.testclient import TestClient

from api.access.authentication import Role
from api.app import create_app
from api.runtime import Clock, system_clock_ms
from api.settings import Settings
from api.store.database import Database, migrate
from api.tables import Record
from api.tokens import service as tokens
from api.tokens.schemas import TokenDocument
from api.transactions import Writing
from tests.patience import FAR_LONGER_SECONDS, eventually

POSTGRESQL = os.environ.get(
    "PERCEPT_TEST_POSTGRESQL_URL", "postgresql://postgres@127.0.0.1:5432/test"
)
START_MS = 1_800_000_000_000
_IDS_ANEW = text(
    "SELECT setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false) "
    "FROM pg_sequences WHERE schemaname = current_schema() AND last_value IS NOT NULL"
)


@dataclass
class SettableClock:
    """A clock that stands still until a test moves it."""

    time_ms: int = START_MS

    def __call__(self) -> int:
        return self.time_ms


@dataclass
class ServiceUnderTest:
    """A running service, a client with the admin token, and one token per role."""

    app: FastAPI
    client: TestClient
    database: Database
    url: str
    clock: SettableClock
    token_of: dict[Role, str] = field(default_factory=dict)

    def as_role(self, role: Role) -> dict[str, str]:
        """Return the header that makes a request one of this role."""
        return {"Authorization": f"Bearer {self.token_of[role]}"}

    def wait_for_reader(self) -> None:
        """Wait until a request is held open by it."""
        eventually(lambda: self.app.state.runtime.bell.waiting_readers)


Publish = Callable[..., dict[str, Any]]
_known_routes: list[BaseRoute] = []


def made_app(settings: Settings, now_ms: Clock = system_clock_ms) -> FastAPI:
    """Return a service with the routes of the first one of this process.

    They are alike, and FastAPI works them out for each application anew, which takes longer than
    most tests do.
    """
    app = create_app(settings, now_ms=now_ms)
    _known_routes.extend(() if _known_routes else app.router.routes)
    app.router.routes[:] = _known_routes
    return app


@contextmanager
def postgresql_schema_named(name: str) -> Iterator[str]:
    """Yield the URL of an empty schema; skips the test where there is no server."""
    try:
        connection = psycopg.connect(POSTGRESQL, autocommit=True, connect_timeout=3)
    except psycopg.OperationalError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"no PostgreSQL at {POSTGRESQL}: {error}")
    with connection:
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)))
        try:
            url = make_url(POSTGRESQL).update_query_dict({"options": f"-csearch_path={name}"})
            yield url.render_as_string(hide_password=False)
        finally:
            connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(name)))


def migrate_sqlite(path: Path) -> None:
    """Make a migrated SQLite file that is whole by itself, to be copied."""
    database = Database(f"sqlite:///{path}")
    migrate(database.engine)
    with database.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()


def quiet_logs() -> None:
    """Let the service log to nowhere, for the rest of this process."""
    renderer = structlog.processors.KeyValueRenderer()
    structlog.configure(processors=[renderer], logger_factory=structlog.ReturnLoggerFactory())


def empty(database: Database) -> None:
    """Take every row out of a store; ids begin anew.

    Tables of tests are so small that to delete rows takes a tenth of the time that TRUNCATE takes,
    which writes new files.
    """
    with database.writing() as session:
        for table in reversed(Record.metadata.sorted_tables):
            session.execute(table.delete())
        session.execute(_IDS_ANEW)


@contextmanager
def running_service(
    url: str, *, raise_failures: bool = True, **settings: Any
) -> Iterator[ServiceUnderTest]:
    """Yield a service on a store; its rate limit is out of the way unless set.

    With `raise_failures` a test sees the exception behind an answer of 500, not the answer.
    """
    clock = SettableClock()
    chosen = {"requests_per_second": 1e6, "max_wait_seconds": FAR_LONGER_SECONDS} | settings
    app = made_app(Settings(database_url=url, **chosen), clock)
    database: Database = app.state.runtime.database
    with database.writing() as session:
        writing = Writing(session, "test", clock())
        token_of = {
            role: tokens.create(writing, TokenDocument(name=role.value, role=role)).token
            for role in Role
        }
    with TestClient(app, raise_server_exceptions=raise_failures) as client:
        client.headers["Authorization"] = f"Bearer {token_of[Role.ADMIN]}"
        yield ServiceUnderTest(app, client, database, url, clock, token_of)

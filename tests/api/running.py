"""A running service for tests, on a store of either kind."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
import structlog
from fastapi import FastAPI
from httpx2 import Response
from psycopg import sql
from sqlalchemy import event, make_url, text
from starlette.routing import BaseRoute
from starlette.testclient import TestClient

from api.app import begin, create_app
from api.runtime import Clock, Runtime, system_clock_ms
from api.settings import Settings
from api.store.database import Database, migrate
from api.tables import Record
from api.tokens import service as tokens
from api.transactions import Writing
from contract.service.tokens import Role, TokenDocument
from tests.api.documents import ANY_STATE, STREAM, processor_document
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
class Service:
    """A running service, a client with the admin token, and one token per role."""

    app: FastAPI
    client: TestClient
    database: Database
    url: str
    clock: SettableClock
    settings: dict[str, Any]
    token_of: dict[Role, str] = field(default_factory=dict)

    def begin_anew(self, **settings: Any) -> None:
        """Forget what tests have left; settings that requests read may be others from now on."""
        self.clock.time_ms = START_MS
        forget(self.app, Settings(**(self.settings | settings)), self.clock)
        self.begin()

    def begin_with_stream(self, **settings: Any) -> None:
        """Begin anew, with the stream `logins`."""
        self.begin_anew(**settings)
        self.post("/v1/streams", Role.ADMIN, STREAM, expect=201)

    def begin(self) -> None:
        """Make a token for each role; the client gets that of an admin."""
        self.token_of = new_tokens(self.database, self.clock())
        self.client.cookies.clear()
        self.client.headers = self.as_role(Role.ADMIN)

    def as_role(self, role: Role) -> dict[str, str]:
        """Return the header that makes a request one of this role."""
        return {"Authorization": f"Bearer {self.token_of[role]}"}

    def get(self, path: str, role: Role = Role.VIEWER, *, expect: int = 200, **query: Any) -> Any:
        """Read something with the token of a role; returns the body of the answer."""
        answer = self.client.get(path, params=query or None, headers=self.as_role(role))
        assert answer.status_code == expect, answer.text
        return answer.json()

    def post(self, path: str, role: Role, body: Any = None, *, expect: int = 200) -> Any:
        """Send something with the token of a role; returns the body of the answer."""
        answer = self.client.post(path, json=body, headers=self.as_role(role))
        assert answer.status_code == expect, answer.text
        return answer.json()

    def send(
        self, method: str, path: str, body: Any = None, role: Role = Role.ADMIN, /, **headers: str
    ) -> Response:
        """Make a request with the token of a role, in whatever state things are."""
        sent = ANY_STATE | self.as_role(role) | headers
        answer: Response = self.client.request(method, path, json=body, headers=sent)
        return answer

    def done(self, method: str, path: str, body: Any = None, role: Role = Role.ADMIN) -> Any:
        """Make such a request, which must succeed; returns the body of the answer."""
        answer = self.send(method, path, body, role)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    def publish(self, **changes: Any) -> Any:
        """Create the rule of `processor_document`, or a version of it; returns the answer."""
        document = processor_document(**changes)
        answer = self.send("POST", "/v1/processors", document)
        if answer.status_code == 409:
            return self.done("PUT", f"/v1/processors/{document['id']}", document)
        assert answer.status_code == 201, answer.text
        return answer.json()

    def snapshot(self, stream: str = "logins") -> Any:
        """Return what jobs read of a stream."""
        return self.get(f"/v1/streams/{stream}/snapshot")

    def epoch(self, stream: str = "logins") -> int:
        """Return the number of the newest epoch of a stream."""
        newest: int = self.get(f"/v1/streams/{stream}")["epoch"]
        return newest

    def log(self, **query: Any) -> Any:
        """Return the newest changes, the newest first."""
        return self.get("/v1/changes", **query)["items"]

    def pages(self, path: str, role: Role = Role.VIEWER, /, **query: Any) -> Iterator[Any]:
        """Yield one page of a list after the other."""
        cursor: dict[str, Any] = {}
        while True:
            page = self.get(path, role, **query, **cursor)
            yield page
            if page["next_cursor"] is None:
                return
            cursor = {"cursor": page["next_cursor"]}

    def wait_for_reader(self) -> None:
        """Wait until a request is held open by it."""
        eventually(lambda: self.app.state.runtime.bell.waiting_readers)


_known_routes: list[BaseRoute] = []


def made_app(settings: Settings, now_ms: Clock = system_clock_ms) -> FastAPI:
    """Return a service with the routes of the first one of this process."""
    app = create_app(settings, now_ms=now_ms)
    # They are alike, and FastAPI works them out anew, which takes longer than most tests do.
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
            options = f"-csearch_path={name} -csynchronous_commit=off"
            url = make_url(POSTGRESQL).update_query_dict({"options": options})
            yield url.render_as_string(hide_password=False)
        finally:
            connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(name)))


@contextmanager
def migrated_postgresql_schema(name: str) -> Iterator[str]:
    """Yield the URL of a migrated schema; skips the test where there is no server."""
    with postgresql_schema_named(name) as url:
        database = Database(url)
        migrate(database.engine)
        database.close()
        yield url


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
    """Take every row out of a store; ids begin anew."""
    with database.writing() as session:
        for table in reversed(Record.metadata.sorted_tables):
            # Of tables as small as these in a tenth of the time of TRUNCATE, which writes files.
            session.execute(table.delete())
        if database.is_postgresql:
            session.execute(_IDS_ANEW)


def forget(app: FastAPI, settings: Settings, now_ms: Clock) -> None:
    """Let a running service begin anew: without rows, and with nothing in its memory."""
    lasting: Runtime = app.state.runtime
    empty(lasting.database)
    begin(app, settings, now_ms, lasting.database)
    begun: Runtime = app.state.runtime
    # These two belong to its event loop and to its processes, which go on.
    app.state.runtime = replace(begun, bell=lasting.bell, trials=lasting.trials)
    lasting.bell.is_closed = False


def new_tokens(database: Database, now_ms: int, suffix: str = "") -> dict[Role, str]:
    """Make a token for each role, named as that is."""
    with database.writing() as session:
        writing = Writing(session, "test", now_ms)
        return {
            role: tokens.create(writing, TokenDocument(name=f"{role}{suffix}", role=role)).token
            for role in Role
        }


@contextmanager
def running_service(url: str, *, raise_failures: bool = True, **settings: Any) -> Iterator[Service]:
    """Yield a service on a store; its rate limit and webhooks are out of the way unless set.

    With `raise_failures` a test sees the exception behind an answer of 500, not the answer.
    """
    clock = SettableClock()
    chosen: dict[str, Any] = {
        "database_url": url,
        "requests_per_second": 1e6,
        "max_wait_seconds": FAR_LONGER_SECONDS,
        "webhook_seconds": 3_600,
        **settings,
    }
    app = made_app(Settings(**chosen), clock)
    database: Database = app.state.runtime.database
    if not database.is_postgresql:
        event.listen(database.engine, "connect", _wait_for_no_disk)
    with TestClient(app, raise_server_exceptions=raise_failures) as client:
        service = Service(app, client, database, url, clock, chosen)
        service.begin()
        yield service


def _wait_for_no_disk(connection: sqlite3.Connection, _record: Any) -> None:
    connection.execute("PRAGMA synchronous = OFF")

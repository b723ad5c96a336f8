"""The service on a store built by the real migrations: a SQLite file and a PostgreSQL schema.

A test that asks for `service` runs on both, on PostgreSQL mostly among the long ones. That may be
missing on a developer's machine, where those tests are skipped with the reason; in CI (CI=true)
they must run.
"""

import os
import shutil
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from api.client import Client
from api.store.database import Database, migrate
from tests.api.documents import PATTERN, STREAM, processor_document
from tests.api.listening import ListeningService, listening_service
from tests.api.running import (
    Publish,
    ServiceUnderTest,
    empty,
    migrate_sqlite,
    postgresql_schema_named,
    quiet_logs,
    running_service,
)

HERE = Path(__file__).parent
ALSO_ON_POSTGRESQL = {
    "test_client.py",
    "test_concurrent_writers.py",
    "test_every_answer.py",
    "test_gitops.py",
    "test_listing.py",
    "test_lists_in_time.py",
    "test_many_writers.py",
    "test_matches.py",
    "test_migrations.py",
    "test_processors.py",
    "test_rules.py",
    "test_snapshots.py",
    "test_store_away.py",
    "test_triage_counts.py",
}
"""What depends on the store most; everything else is tried on PostgreSQL by the long tests."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave most tests on PostgreSQL to the long ones."""
    for item in items:
        if item.path.parent != HERE or item.path.name in ALSO_ON_POSTGRESQL:
            continue
        if isinstance(item, pytest.Function) and "postgresql" in item.name:
            item.add_marker(pytest.mark.long)


@pytest.fixture(scope="session", autouse=True)
def _quiet_logs() -> None:
    quiet_logs()


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite file to copy."""
    path = tmp_path_factory.mktemp("sqlite") / "template.db"
    migrate_sqlite(path)
    return path


@pytest.fixture(scope="session")
def postgresql_schema(worker_id: str) -> Iterator[str]:
    """The URL of a migrated PostgreSQL schema of this test process's own."""
    with postgresql_schema_named(f"percept_test_{worker_id}_{os.getpid()}") as url:
        database = Database(url)
        migrate(database.engine)
        database.close()
        yield url


@pytest.fixture(scope="session")
def migrated_store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], str]:
    """Makes an empty, migrated store of a kind and returns its URL; PostgreSQL has only one."""

    def made(kind: str) -> str:
        if kind == "sqlite":
            path = tmp_path_factory.mktemp("store") / "percept.db"
            shutil.copy(request.getfixturevalue("sqlite_template"), path)
            return f"sqlite:///{path}"
        url: str = request.getfixturevalue("postgresql_schema")
        database = Database(url)
        empty(database)
        database.close()
        return url

    return made


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, migrated_store: Callable[[str], str]) -> str:
    """The URL of an empty, migrated store; the test runs once for each back end."""
    return migrated_store(request.param)


@pytest.fixture
def service(database_url: str) -> Iterator[ServiceUnderTest]:
    """A running service on an empty store."""
    with running_service(database_url) as running:
        yield running


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def lasting_service(
    request: pytest.FixtureRequest, migrated_store: Callable[[str], str]
) -> Iterator[ServiceUnderTest]:
    """One service for many examples, each on a stream of its own."""
    with running_service(migrated_store(request.param)) as service:
        yield service


@pytest.fixture
def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
def sqlite_store(migrated_store: Callable[[str], str]) -> str:
    """The URL of an empty, migrated SQLite store, where the back end makes no difference."""
    return migrated_store("sqlite")


@pytest.fixture
def listening(migrated_store: Callable[[str], str]) -> Iterator[ListeningService]:
    """A service on SQLite with the stream `logins`, listening on a port of its own."""
    with listening_service(migrated_store("sqlite")) as running:
        yield running


@pytest.fixture
def client(listening: ListeningService) -> Iterator[Client]:
    """A client of that service, which has the rule `failed-logins` with a window of a minute."""
    with listening.client() as connected:
        connected.create(processor_document(pattern=PATTERN | {"within": "1 minute"}))
        yield connected


@pytest.fixture
def with_stream(service: ServiceUnderTest) -> ServiceUnderTest:
    """A service that has the stream `logins`."""
    assert service.client.post("/v1/streams", json=STREAM).status_code == 201
    return service


@pytest.fixture
def publish(with_stream: ServiceUnderTest) -> Publish:
    """Create a processor, or put a new version of it; returns the answer's body."""

    def published(**changes: Any) -> dict[str, Any]:
        document = processor_document(**changes)
        answer = with_stream.client.post("/v1/processors", json=document)
        if answer.status_code == 409:
            path = f"/v1/processors/{document['id']}"
            answer = with_stream.client.put(path, json=document, headers={"If-Match": "*"})
        assert answer.status_code in {200, 201}, answer.text
        body: dict[str, Any] = answer.json()
        return body

    return published

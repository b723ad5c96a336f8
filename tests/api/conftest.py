"""The service on a store built by the real migrations: a SQLite file or a PostgreSQL schema.

A module's tests share one service, which begins anew for each of them. They run on SQLite; those
of `ALSO_ON_POSTGRESQL` on both. With `PERCEPT_TEST_STORE=postgresql` all that depend on a store run
on PostgreSQL, and no others. That may be missing on a developer's machine, where those tests are
skipped with the reason; in CI (CI=true) they must run.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from api.client import Client
from api.store.database import Database
from contract.service.tokens import Role
from tests import ports
from tests.api.commands import Folder, Run, runner
from tests.api.documents import PATTERN, STREAM, processor_document
from tests.api.jobs import ReportingJob
from tests.api.listening import ListeningService, listening_service
from tests.api.lists import Lists
from tests.api.people import Person, token_of
from tests.api.running import (
    Service,
    empty,
    migrate_sqlite,
    migrated_postgresql_schema,
    quiet_logs,
    running_service,
)

HERE = Path(__file__).parent
STORE = os.environ.get("PERCEPT_TEST_STORE", "sqlite")
ALSO_ON_POSTGRESQL = {
    "test_concurrent_writers.py",
    "test_listing.py",
    "test_lists_in_time.py",
    "test_many_writers.py",
    "test_matches.py",
    "test_rules.py",
    "test_snapshots.py",
    "test_store_away.py",
    "test_triage_counts.py",
    "test_webhooks.py",
}
"""What depends on the store most: locks, notifications, orders, pages."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what depends on the store most on both."""
    if "store_kind" not in metafunc.fixturenames or STORE != "sqlite":
        return
    if metafunc.definition.path.name in ALSO_ON_POSTGRESQL:
        kinds = ["sqlite", "postgresql"]
        metafunc.parametrize("store_kind", kinds, indirect=True, scope="module")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what has run on SQLite, where the store is another one."""
    if STORE == "sqlite":
        return
    left_out = [
        item
        for item in items
        if item.path.parent == HERE and "store_kind" not in getattr(item, "fixturenames", ())
    ]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


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
    with migrated_postgresql_schema(f"percept_test_{worker_id}_{os.getpid()}") as url:
        yield url


@pytest.fixture(scope="session")
def modules_schema(worker_id: str) -> Iterator[str]:
    """That of the services that last for a module."""
    with migrated_postgresql_schema(f"percept_modules_{worker_id}_{os.getpid()}") as url:
        yield url


@pytest.fixture(scope="session")
def migrated_store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., str]:
    """Makes an empty, migrated store of a kind and returns its URL; PostgreSQL has only one."""

    def made(kind: str, schema: str = "postgresql_schema") -> str:
        if kind == "sqlite":
            path = tmp_path_factory.mktemp("store") / "percept.db"
            shutil.copy(request.getfixturevalue("sqlite_template"), path)
            return f"sqlite:///{path}"
        url: str = request.getfixturevalue(schema)
        database = Database(url)
        empty(database)
        database.close()
        return url

    return made


@pytest.fixture(scope="module")
def store_kind(request: pytest.FixtureRequest) -> str:
    """The kind of store that tests run on."""
    kind: str = getattr(request, "param", STORE)
    return kind


@pytest.fixture
def database_url(store_kind: str, migrated_store: Callable[[str], str]) -> str:
    """The URL of an empty, migrated store, for a service of the test's own."""
    return migrated_store(store_kind)


@pytest.fixture(scope="module")
def module_service(store_kind: str, migrated_store: Callable[..., str]) -> Iterator[Service]:
    """One service for all tests of a module; for many examples, each on a stream of its own."""
    with running_service(migrated_store(store_kind, "modules_schema")) as running:
        yield running


@pytest.fixture
def service(module_service: Service) -> Service:
    """A running service on an empty store."""
    module_service.begin_anew()
    return module_service


@pytest.fixture
def free_port() -> int:
    """A port that nobody listens on."""
    return ports.free_port()


@pytest.fixture
def sqlite_store(migrated_store: Callable[[str], str]) -> str:
    """The URL of an empty, migrated SQLite store, where the back end makes no difference."""
    return migrated_store("sqlite")


@pytest.fixture(scope="module")
def module_listening(migrated_store: Callable[..., str]) -> Iterator[ListeningService]:
    """One service on SQLite for all tests of a module, listening on a port of its own."""
    with listening_service(migrated_store("sqlite")) as running:
        yield running


@pytest.fixture
def listening(module_listening: ListeningService) -> ListeningService:
    """A service on SQLite with the stream `logins`, listening on a port of its own."""
    module_listening.begin_anew()
    return module_listening


@pytest.fixture
def client(listening: ListeningService) -> Iterator[Client]:
    """A client of that service, with the role of an admin."""
    with listening.client() as connected:
        yield connected


@pytest.fixture
def client_with_rule(client: Client) -> Client:
    """That client; its service has the rule `failed-logins` with a window of a minute."""
    client.create(processor_document(pattern=PATTERN | {"within": "1 minute"}))
    return client


@pytest.fixture
def run(
    request: pytest.FixtureRequest, listening: ListeningService, monkeypatch: pytest.MonkeyPatch
) -> Run:
    """Run commands on that service; a module may say which in `COMMAND`, and whose in `ROLE`."""
    command, role = (getattr(request.module, name, None) for name in ("COMMAND", "ROLE"))
    return runner(listening, monkeypatch, *command or (), role=role or Role.ADMIN)


@pytest.fixture
def folder(run: Run, client: Client, tmp_path: Path) -> Folder:
    """An empty folder of documents."""
    return Folder(tmp_path, run, client)


@pytest.fixture
def with_stream(service: Service) -> Service:
    """A service that has the stream `logins`."""
    assert service.client.post("/v1/streams", json=STREAM).status_code == 201
    return service


@pytest.fixture
def with_rule(with_stream: Service) -> Service:
    """A service that has the stream `logins` with the rule `failed-logins`."""
    with_stream.publish()
    return with_stream


@pytest.fixture
def job(with_stream: Service) -> ReportingJob:
    """A job of the stream `logins`."""
    return ReportingJob(with_stream)


@pytest.fixture
def lists(with_stream: Service) -> Lists:
    """The lists of the stream `logins`."""
    return Lists(with_stream)


@pytest.fixture
def ana(with_stream: Service) -> Person:
    """Somebody with the role of a publisher."""
    return token_of(with_stream, "ana", person="ana")


@pytest.fixture
def bob(with_stream: Service) -> Person:
    """Somebody else with the role of a publisher."""
    return token_of(with_stream, "bob", person="bob")

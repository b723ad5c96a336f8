"""A store that is away, locked or broken is told as such, and used again once it is back."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from httpx2 import Response
from sqlalchemy import make_url, text
from sqlalchemy.orm import Session

from api.processors import publications
from api.store import notifications
from api.store.database import Database
from api.store.notifications import EpochBell, hearing_others
from tests.api.documents import STREAM, processor_document
from tests.api.forwarding import Forwarder, forwarder_to
from tests.api.running import Service, running_service
from tests.patience import FAR_LONGER_SECONDS, PATIENCE_SECONDS, eventually


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.store.notifications._FIRST_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr("api.store.notifications._LONGEST_PAUSE_SECONDS", 0.02)
    monkeypatch.setattr("api.store.readiness._FRESH_SECONDS", 0)


@pytest.fixture
def postgresql_url(migrated_store: Callable[[str], str]) -> str:
    return migrated_store("postgresql")


@pytest.fixture
def way(postgresql_url: str) -> Iterator[Forwarder]:
    """The way to PostgreSQL, which can be cut."""
    url = make_url(postgresql_url)
    with forwarder_to(url.host or "", url.port or 5432) as forwarder:
        yield forwarder


@pytest.fixture
def remote(postgresql_url: str, way: Forwarder) -> Iterator[Service]:
    """A service on PostgreSQL, with the stream `logins`, whose way to it can be cut."""
    url = make_url(postgresql_url).set(port=way.port).render_as_string(hide_password=False)
    with running_service(url, raise_failures=False) as service:
        service.done("POST", "/v1/streams", STREAM)
        yield service


def wait_until_ready(service: Service) -> None:
    eventually(lambda: service.client.get("/readyz").status_code == 200)


PARTS = ("snapshot", "matches/stream")


def is_not_now(answer: Response) -> bool:
    return (
        answer.status_code == 503
        and answer.headers["Content-Type"] == "application/problem+json"
        and int(answer.headers["Retry-After"]) > 0
        and "127.0.0.1" not in answer.text
    )


def test_while_the_database_is_away_every_answer_says_so(remote: Service, way: Forwarder) -> None:
    client, document = remote.client, processor_document()
    way.cut()
    for _ in range(2):
        for path in ("/v1/streams", *(f"/v1/streams/logins/{part}" for part in PARTS)):
            assert is_not_now(client.get(path))
        assert is_not_now(client.post("/v1/processors", json=document))
        assert is_not_now(client.get("/session", headers={"Cookie": "percept_session=percept_x"}))
    assert client.get("/healthz").status_code == 200
    assert client.get("/readyz").status_code == 503
    way.mend()
    wait_until_ready(remote)
    assert client.post("/v1/processors", json=document).status_code == 201


def test_metrics_tell_that_the_database_is_away(remote: Service, way: Forwarder) -> None:
    client = remote.client
    remote.done("PUT", "/v1/streams/logins/jobs/fraud", {"instance_id": "instance-1"})
    before = client.get("/metrics").text
    assert "percept_store_up 1.0" in before
    assert 'percept_job_up{job="fraud"' in before
    way.cut()
    away = client.get("/metrics")
    assert away.status_code == 200
    assert "percept_store_up 0.0" in away.text
    assert "percept_http_request_seconds_count" in away.text
    assert "percept_job_up" not in away.text
    # Of a token that was not used before nobody knows whether it is valid.
    stranger = {"Authorization": "Bearer percept_stranger"}
    assert is_not_now(client.get("/metrics", headers=stranger))
    way.mend()
    eventually(lambda: "percept_job_up" in client.get("/metrics").text)


def test_what_others_publish_is_heard_again_once_the_database_is_back(
    remote: Service, way: Forwarder, postgresql_url: str
) -> None:
    way.cut()
    eventually(lambda: remote.client.get("/readyz").status_code == 503)
    way.mend()
    wait_until_ready(remote)
    path = "/v1/streams/logins/snapshot"
    seen = {"If-None-Match": remote.client.get(path).headers["ETag"]}
    longer = f"{path}?wait={FAR_LONGER_SECONDS:g}s"
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(remote.client.get, longer, headers=seen)
        remote.wait_for_reader()
        with running_service(postgresql_url) as other:
            other.publish()
        assert reading.result(PATIENCE_SECONDS).json()["epoch"] == 2


def test_a_transaction_cut_off_has_changed_nothing(
    remote: Service, way: Forwarder, monkeypatch: pytest.MonkeyPatch
) -> None:
    follow_state = publications.follow_state

    def cut_then_follow(*arguments: Any) -> None:
        way.cut()
        follow_state(*arguments)

    monkeypatch.setattr(publications, "follow_state", cut_then_follow)
    assert is_not_now(remote.send("POST", "/v1/processors", processor_document()))
    way.mend()
    wait_until_ready(remote)
    assert remote.epoch() == 1
    assert remote.get("/v1/processors")["items"] == []


def test_a_commit_cut_off_is_told_as_perhaps_done(
    remote: Service, way: Forwarder, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = Session.commit

    def cut_then_commit(session: Session) -> None:
        way.cut()
        commit(session)

    monkeypatch.setattr(Session, "commit", cut_then_commit)
    answer = remote.send("POST", "/v1/processors", processor_document())
    assert (answer.status_code, "Retry-After" in answer.headers) == (503, False)
    assert "may have been made" in answer.json()["detail"]


@pytest.fixture
def in_a_file(sqlite_store: str) -> Iterator[tuple[Service, Path]]:
    """A service with a stream, and the file of its store, which nothing holds open."""
    with running_service(sqlite_store, raise_failures=False) as service:
        service.done("POST", "/v1/streams", STREAM)
        service.database.engine.dispose()  # a connection that is open would keep the file
        yield service, Path(make_url(sqlite_store).database or "")


def test_a_file_that_is_gone_is_told_and_no_empty_one_takes_its_place(
    in_a_file: tuple[Service, Path],
) -> None:
    service, file = in_a_file
    moved = file.rename(file.with_suffix(".moved"))
    assert is_not_now(service.client.get("/v1/streams"))
    assert service.client.get("/readyz").status_code == 503
    assert "percept_store_up 0.0" in service.client.get("/metrics").text
    assert not file.exists()
    moved.rename(file)
    assert len(service.get("/v1/streams")["items"]) == 1


def test_a_file_that_is_no_database_is_told(in_a_file: tuple[Service, Path]) -> None:
    service, file = in_a_file
    file.write_bytes(b"x" * file.stat().st_size)
    assert is_not_now(service.client.get("/v1/streams"))
    assert service.client.get("/healthz").status_code == 200


class HeardBell(EpochBell):
    """A bell that tells when it is rung."""

    def __init__(self) -> None:
        super().__init__()
        self.rung = asyncio.Event()

    def ring(self, stream: str | None = None) -> None:  # noqa: ARG002
        self.rung.set()


def test_a_listener_that_fails_begins_again_and_says_so_once(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(
        notifications._log, "warning", lambda event, **_: told.append(event), raising=False
    )
    database = Database(database_url)
    kind = "_listen_postgresql" if database.is_postgresql else "_watch_sqlite"
    listen = getattr(notifications, kind)
    failures = iter([OSError("no route"), ValueError("a defect"), RuntimeError("another")])

    async def failing_at_first(*arguments: Any) -> None:
        for failure in failures:
            raise failure
        await listen(*arguments)

    monkeypatch.setattr(notifications, kind, failing_at_first)

    async def heard() -> None:
        bell = HeardBell()
        async with hearing_others(database, bell), asyncio.timeout(PATIENCE_SECONDS):
            await bell.rung.wait()  # it has begun
            bell.rung.clear()
            await asyncio.to_thread(_commit_elsewhere, database_url)
            await bell.rung.wait()

    asyncio.run(heard())
    database.close()
    assert told == ["changes by other processes are not heard"]


def _commit_elsewhere(url: str) -> None:
    other = Database(url)
    with other.writing() as session:
        if other.is_postgresql:
            session.execute(text(f"NOTIFY {notifications.CHANNEL}, 'logins'"))
        else:
            session.execute(text("UPDATE alembic_version SET version_num = version_num"))
    other.close()


def test_a_stop_closes_the_store_also_while_the_listener_fails(
    sqlite_store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[int] = []

    async def failing(*_: Any) -> None:
        tried.append(1)
        raise OSError("no route")

    monkeypatch.setattr(notifications, "_watch_sqlite", failing)
    with running_service(sqlite_store) as service:
        closed: list[bool] = []
        monkeypatch.setattr(service.database, "close", lambda: closed.append(True))
        eventually(lambda: len(tried) > 2)
    assert closed == [True]
    assert service.app.state.runtime.bell.is_closed
    service.database.engine.dispose()

"""Many requests at once, or a lock that is held elsewhere, never stop a service from answering."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx2
import pytest
from sqlalchemy import text

from api.store.database import Database
from tests.api.documents import STREAM, processor_document
from tests.api.listening import ListeningService, listening_service
from tests.api.running import Service, running_service
from tests.patience import PATIENCE_SECONDS

PUT_OFF = 503


@pytest.fixture
def listening(database_url: str) -> Iterator[ListeningService]:
    """A service that listens, on either store."""
    with listening_service(database_url) as running:
        yield running


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let /readyz wait for the store on a busy machine: what hangs is what matters here."""
    monkeypatch.setattr("api.store.readiness._PATIENCE_SECONDS", PATIENCE_SECONDS)


@pytest.fixture
def impatient(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """A service with the stream `logins` that waits for locks hardly at all."""
    monkeypatch.setattr("api.store.database.LOCK_TIMEOUT_MS", 50)
    with running_service(database_url) as service:
        service.done("POST", "/v1/streams", STREAM)
        yield service


def is_put_off(answer: httpx2.Response) -> bool:
    """Return whether this is a 503 that says when to come back."""
    return (
        answer.status_code == PUT_OFF
        and answer.headers["Content-Type"] == "application/problem+json"
        and int(answer.headers["Retry-After"]) > 0
    )


async def all_at_once(
    listening: ListeningService, writers: int, writes: int
) -> tuple[list[httpx2.Response], list[int]]:
    """Return the answers to writers that begin together, and those of /readyz meanwhile."""
    async with listening.asynchronous_client(writers + 1) as client:

        async def write(writer: int) -> list[httpx2.Response]:
            ids = [f"w{writer}-{number}" for number in range(writes)]
            return [
                await client.post("/v1/processors", json=processor_document(id=each))
                for each in ids
            ]

        writing = asyncio.gather(*(write(writer) for writer in range(writers)))
        ready = []
        while not writing.done():
            ready.append((await client.get("/readyz")).status_code)
            await asyncio.sleep(0.05)
        return [answer for answers in await writing for answer in answers], ready


@pytest.mark.long
@pytest.mark.parametrize(
    ("writers", "writes"),
    [
        (64, 1),
        pytest.param(64, 3, marks=pytest.mark.nightly),
        pytest.param(256, 1, marks=pytest.mark.nightly),
    ],
)
def test_many_writers_at_once_are_answered_and_epochs_have_no_gaps(
    listening: ListeningService, writers: int, writes: int
) -> None:
    answers, ready = asyncio.run(all_at_once(listening, writers, writes))
    counted = Counter(answer.status_code for answer in answers)
    assert set(counted) <= {201, PUT_OFF}, counted
    assert counted[201] > 0
    assert all(is_put_off(answer) for answer in answers if answer.status_code == PUT_OFF)
    assert set(ready) == {200}
    newest = listening.service.epoch()
    assert newest == 1 + counted[201]  # the first is the stream's own
    changes = listening.service.log(stream="logins", limit=500)
    assert sorted(change["epoch"] for change in changes) == list(range(1, newest + 1))


@pytest.mark.long
def test_more_readers_at_once_than_there_are_threads_and_connections_are_answered(
    listening: ListeningService,
) -> None:
    async def read() -> list[int]:
        async with listening.asynchronous_client(200) as client:
            answers = [client.get("/v1/processors") for _ in range(200)]
            return [answer.status_code for answer in await asyncio.gather(*answers)]

    assert Counter(asyncio.run(read())) == {200: 200}


@contextmanager
def lock_held_elsewhere(url: str) -> Iterator[None]:
    """Hold what a writer of the stream needs, as another process would."""
    other = Database(url)
    try:
        with other.writing() as session:
            lock = "SELECT 1 FROM streams FOR UPDATE" if other.is_postgresql else "SELECT 1"
            session.execute(text(lock))  # on SQLite a writer locks the whole store
            yield
    finally:
        other.close()


def test_a_lock_held_elsewhere_puts_writers_off_while_reads_go_on(impatient: Service) -> None:
    with lock_held_elsewhere(impatient.url):
        for _ in range(10):  # more than may write at once
            answer = impatient.send("POST", "/v1/processors", processor_document())
            assert is_put_off(answer), answer.text
            assert "Nothing was changed" in answer.json()["detail"]
        for path in ("/v1/streams/logins", "/v1/streams/logins/snapshot", "/readyz"):
            assert impatient.client.get(path).status_code == 200
    impatient.publish()


def test_whoever_writes_too_long_puts_others_off(
    with_stream: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    writers = with_stream.app.state.runtime.writers
    monkeypatch.setattr(writers, "_wait_seconds", 0.05)

    async def take_all_turns() -> None:
        limiter = writers._turns_of_this_loop()
        for _ in range(with_stream.database.writers):
            limiter.acquire_on_behalf_of_nowait(object())

    portal = with_stream.client.portal
    assert portal is not None
    portal.call(take_all_turns)
    answer = with_stream.send("POST", "/v1/processors", processor_document())
    assert is_put_off(answer), answer.text
    assert with_stream.epoch() == 1


def test_nothing_on_postgresql_waits_for_ever(migrated_store: Callable[[str], str]) -> None:
    database = Database(migrated_store("postgresql"))
    with database.reading() as session:
        for kind in ("lock", "statement", "idle_in_transaction_session"):
            assert session.scalar(text(f"SHOW {kind}_timeout")) not in {"0", None}
    database.close()

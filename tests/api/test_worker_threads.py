"""Few threads compute at once, in short turns, so that the event loop can answer meanwhile."""

import asyncio
import sys
import threading
from collections.abc import Iterator

import pytest

from api.access import authentication
from api.access.authentication import Principal
from api.runtime import Runtime
from api.server.listening import READING_THREADS, let_threads_take_short_turns
from tests.api.listening import ListeningService
from tests.patience import PATIENCE_SECONDS, eventually


@pytest.fixture
def _restored_turns() -> Iterator[None]:
    before_seconds = sys.getswitchinterval()
    yield
    sys.setswitchinterval(before_seconds)


@pytest.mark.usefixtures("_restored_turns")
def test_turns_of_threads_are_shorter_than_those_of_python() -> None:
    sys.setswitchinterval(0.005)
    let_threads_take_short_turns()
    assert sys.getswitchinterval() < 0.005


def test_few_requests_are_in_a_thread_at_once_and_health_needs_none(
    listening: ListeningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    look_up = authentication._principal
    inside, most = 0, 0
    lock, released = threading.Lock(), threading.Event()

    def held(runtime: Runtime, sha256: str) -> Principal | None:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        released.wait(PATIENCE_SECONDS)
        with lock:
            inside -= 1
        return look_up(runtime, sha256)

    monkeypatch.setattr(authentication, "_principal", held)

    async def crowd() -> None:
        async with listening.asynchronous_client() as client:
            asked = [asyncio.create_task(client.get("/v1/processors")) for _ in range(50)]
            await asyncio.to_thread(eventually, lambda: inside == READING_THREADS)
            assert (await client.get("/healthz")).status_code == 200
            released.set()
            assert {(await each).status_code for each in asked} == {200}

    asyncio.run(crowd())
    assert most == READING_THREADS

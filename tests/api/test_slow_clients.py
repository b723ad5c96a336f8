"""Connections that do nothing are bounded in time and number, and never keep others out."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from unittest.mock import Mock

import httpx2
import pytest

from api.server.connections import Connections
from api.server.seldom import Seldom
from tests.api.listening import ListeningService, listening_service
from tests.api.serving import served
from tests.patience import FAR_LONGER_SECONDS, PATIENCE_SECONDS, eventually

CUT = b"HTTP/1.1 408 "
HALF_A_HEAD = b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: "
LIMIT = 40


@contextmanager
def half_sent_heads(address: tuple[str, int], count: int) -> Iterator[list[socket.socket]]:
    """Open connections and send half a head on each."""
    with ExitStack() as stack:
        opened = []
        for _ in range(count):
            connection = socket.create_connection(address, timeout=PATIENCE_SECONDS)
            stack.enter_context(connection)
            connection.sendall(HALF_A_HEAD)
            opened.append(connection)
        yield opened


def rest_of(connection: socket.socket) -> bytes:
    """Return what comes until the other side closes the connection."""
    received = b""
    with suppress(ConnectionResetError):
        while more := connection.recv(4_096):
            received += more
    return received


@pytest.fixture
def impatient(sqlite_store: str) -> Iterator[ListeningService]:
    """A service that waits hardly at all for a head."""
    with listening_service(sqlite_store, head_seconds=0.2) as listening:
        yield listening


@pytest.fixture
def crowded(sqlite_store: str) -> Iterator[ListeningService]:
    """A service that waits long for a head and has few connections."""
    settings = {"head_seconds": FAR_LONGER_SECONDS, "connections": LIMIT}
    with listening_service(sqlite_store, **settings) as listening:
        yield listening


def test_a_head_that_stops_half_way_is_cut_and_a_connection_without_one_closed(
    impatient: ListeningService,
) -> None:
    with half_sent_heads(impatient.address, 3) as connections:
        for connection in connections:
            assert rest_of(connection).startswith(CUT)
    with socket.create_connection(impatient.address, timeout=PATIENCE_SECONDS) as connection:
        assert rest_of(connection) == b""


def test_a_head_that_trickles_is_cut(impatient: ListeningService) -> None:
    async def trickled() -> bytes:
        reader, writer = await asyncio.open_connection(*impatient.address)
        writer.write(HALF_A_HEAD)
        # Its beginning only: what is on its way when the service closes resets the connection.
        reading = asyncio.ensure_future(reader.read(len(CUT)))
        while not reading.done():
            writer.write(b"x")
            await asyncio.sleep(0.01)
        writer.close()
        return await reading

    answer = asyncio.run(asyncio.wait_for(trickled(), PATIENCE_SECONDS))
    assert answer == CUT


def test_after_an_answer_a_connection_is_closed_that_goes_on_sending_its_body(
    sqlite_store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.server.protocol._CLOSING_SECONDS", 0.2)
    head = b"POST /v1/streams HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n["
    with (
        listening_service(sqlite_store, head_seconds=FAR_LONGER_SECONDS) as listening,
        socket.create_connection(listening.address, timeout=PATIENCE_SECONDS) as connection,
    ):
        connection.sendall(head)
        assert rest_of(connection).startswith(b"HTTP/1.1 401 ")


def test_an_answer_that_nobody_reads_is_dropped(
    sqlite_store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.server.protocol._READ_SECONDS", 0.2)
    with listening_service(sqlite_store) as listening:
        with socket.socket() as connection:
            # Small enough for the answers to pile up on the side of the service.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            connection.settimeout(PATIENCE_SECONDS)
            connection.connect(listening.address)
            ask = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"
            with pytest.raises(OSError, match=r"reset|Broken"):  # noqa: PT012 - a loop
                while True:
                    connection.sendall(ask)
        eventually(lambda: listening.server.open.open == 0)


def test_half_sent_heads_make_room_for_whole_ones(crowded: ListeningService) -> None:
    with half_sent_heads(crowded.address, 3 * LIMIT):
        for _ in range(3):
            assert httpx2.get(f"{crowded.url}/healthz").status_code == 200
            assert crowded.server.open.open <= LIMIT


def test_requests_under_way_are_not_cut_for_new_ones(crowded: ListeningService) -> None:
    path = "/v1/streams/logins/snapshot"
    seen = {"If-None-Match": crowded.service.client.get(path).headers["ETag"]}
    longer = f"{path}?wait={FAR_LONGER_SECONDS:g}s"

    async def wait_while_others_come() -> tuple[int, int]:
        async with crowded.asynchronous_client(LIMIT) as waiting:
            polls = [asyncio.ensure_future(waiting.get(longer, headers=seen)) for _ in range(LIMIT)]
            await asyncio.to_thread(eventually, lambda: crowded.waiting_readers == LIMIT)
            # Nobody waits for a head, so nobody makes room.
            async with httpx2.AsyncClient(base_url=crowded.url) as late:
                turned_away = await late.get("/healthz")
            crowded.service.app.state.runtime.bell.close()
            answers = await asyncio.gather(*polls)
        return turned_away.status_code, sum(answer.status_code == 304 for answer in answers)

    assert asyncio.run(wait_while_others_come()) == (503, LIMIT)


@pytest.mark.long
def test_with_few_descriptors_health_is_told_and_the_log_stays_short(
    tmp_path: Path, free_port: int
) -> None:
    with served(tmp_path, "sqlite:///percept.db", free_port, descriptors=300) as service:
        with half_sent_heads(("127.0.0.1", free_port), 400):
            for _ in range(3):
                assert httpx2.get(f"{service.url}/healthz", timeout=PATIENCE_SECONDS).is_success
        assert service.log.stat().st_size < 20_000


def test_who_waits_longest_makes_room() -> None:
    a, b, c, d, e = (Mock(asyncio.Transport) for _ in range(5))
    connections = Connections(limit=3)
    assert all(connections.admit(each) for each in (a, b, c))

    def are_cut() -> list[Mock]:
        return [each for each in (a, b, c, d, e) if each.abort.called]

    connections.begin_request(a)
    assert connections.admit(d)
    assert are_cut() == [b]
    connections.begin_request(c)
    connections.begin_waiting(a)
    assert connections.admit(e)  # d has waited for longer than a
    assert are_cut() == [b, d]
    for each in (a, e):
        connections.begin_request(each)
    assert not connections.admit(b)
    connections.forget(c)
    assert connections.open == 2
    assert connections.admit(b)


def test_what_happens_often_is_logged_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    warn = Mock()
    monkeypatch.setattr("api.server.seldom._log.warning", warn, raising=False)
    seconds = iter(range(25))
    seldom = Seldom("it happens", 10, lambda: next(seconds))
    for _ in range(25):
        seldom.warn()
    assert [call.kwargs["times"] for call in warn.call_args_list] == [1, 10, 10]

"""Nothing of a request is read but its head before its sender is let in, and then within limits."""

import asyncio
import json
from contextlib import suppress
from typing import Any
from unittest.mock import Mock

import pytest

from api.access import authentication
from contract.service.tokens import Role
from tests.api.documents import STREAM
from tests.api.listening import ListeningService, listening_service
from tests.api.running import Service
from tests.patience import PATIENCE_SECONDS

TEN_MEGABYTES = "10000000"


async def _unread_answer(service: Service, path: str, token: str) -> tuple[int, Any]:
    """Return how a POST is answered whose body must not be asked for."""
    sent: list[Any] = []

    async def receive() -> Any:
        raise AssertionError("the body was read")

    async def send(message: Any) -> None:
        sent.append(message)

    path, _, query = path.partition("?")
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", TEN_MEGABYTES.encode()),
        (b"authorization", f"Bearer {token}".encode()),
    ]
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": headers,
        "client": ("127.0.0.1", 1),
    }
    await service.app(scope, receive, send)
    return sent[0]["status"], json.loads(b"".join(each.get("body", b"") for each in sent[1:]))


def unread_answer(service: Service, path: str, token: str) -> tuple[int, Any]:
    portal = service.client.portal
    assert portal is not None
    answer: tuple[int, Any] = portal.call(_unread_answer, service, path, token)
    return answer


def test_a_body_is_not_read_of_what_is_refused_in_any_case(service: Service) -> None:
    viewer, admin = service.token_of[Role.VIEWER], service.token_of[Role.ADMIN]
    for path, token, status in (
        *((f"/v1/{path}", "wrong", 401) for path in ("processors", "streams", "drafts/trial")),
        ("/v1/streams?nmae=1", "wrong", 401),
        ("/v1/processors", viewer, 403),
        ("/v1/processors?pasued=true", admin, 422),
        ("/v1/streams", admin, 413),
        ("/session", "", 413),
    ):
        found, problem = unread_answer(service, path, token)
        assert found == status, path
        if status == 422:
            assert problem["errors"][0]["pointer"] == "query/pasued"


def test_a_body_is_not_read_of_whom_asks_too_often_nor_a_long_one_of_an_open_route(
    service: Service,
) -> None:
    body, headers = {"token": "x" * 5_000}, {"X-Percept-Dashboard": "1"}
    assert service.client.post("/session", json=body, headers=headers).status_code == 413
    service.begin_anew(requests_per_second=0.001)
    service.get("/v1/streams", Role.ADMIN)
    assert unread_answer(service, "/v1/streams", service.token_of[Role.ADMIN])[0] == 429


def test_whoever_guesses_tokens_costs_the_store_nothing_in_the_end(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.begin_anew(requests_per_second=5)
    service.get("/v1/streams")
    looked_up = Mock(wraps=authentication._principal)
    monkeypatch.setattr(authentication, "_principal", looked_up)
    monkeypatch.setattr(service.app.state.runtime.rate_limits, "_rate", 1e-9)
    guess = {"Authorization": "Bearer percept_guess"}
    answers = [service.client.get("/v1/streams", headers=guess) for _ in range(10)]
    assert [answer.status_code for answer in answers] == [401] * 2 + [429] * 8
    assert looked_up.call_count == 2
    # Whose token was valid before is not taken for a guesser at the same address.
    service.get("/v1/streams")


MANY_KEYS = json.dumps({f"k{n}": 0 for n in range(150_000)})
HOSTILE = {
    "many keys, one of them twice": MANY_KEYS[:-1] + ', "k149999": 0}',
    "many empty objects": "[" + "{}," * 650_000 + "{}]",
    "many empty lists": '{"name": [' + "[]," * 650_000 + "[]]}",
    "many unknown keys": json.dumps({f"k{n}": 0 for n in range(100_000)}),
    "nested as deep as may be": "[" * 60 + "{}," * 600_000 + "{}" + "]" * 60,
}


@pytest.mark.parametrize("body", HOSTILE)
def test_the_service_answers_others_while_it_reads_a_hostile_body(
    listening: ListeningService, body: str
) -> None:
    headers = {**listening.service.client.headers, "Content-Type": "application/json"}
    content = HOSTILE[body].encode()

    async def both() -> tuple[int, list[int]]:
        async with listening.asynchronous_client() as client:
            posted = client.post("/v1/streams", content=content, headers=headers)
            reading = asyncio.ensure_future(posted)
            healthy = []
            while not reading.done():
                healthy.append((await client.get("/healthz")).status_code)
                await asyncio.sleep(0.01)
            return (await reading).status_code, healthy

    status, healthy = asyncio.run(both())
    assert status in {400, 422}
    assert set(healthy) == {200}


def test_of_very_many_problems_some_are_shown_and_no_more_bodies_are_held_than_fit(
    with_stream: Service,
) -> None:
    document = STREAM | {f"k{n}": 0 for n in range(500)}
    body = with_stream.client.post("/v1/streams", json=document).json()
    assert body["detail"] == "The request has 500 problems, of which 100 are shown."
    assert len(body["errors"]) == 100
    runtime = with_stream.app.state.runtime
    with runtime.bodies.share() as share:
        share.take(runtime.bodies._free_bytes - 10)
        answer = with_stream.send("POST", "/v1/streams", STREAM)
        assert (answer.status_code, bool(answer.headers["Retry-After"])) == (503, True)
    assert with_stream.send("POST", "/v1/streams", STREAM).status_code == 409
    assert runtime.bodies._free_bytes == 32 * runtime.settings.max_body_bytes


def test_a_body_that_trickles_is_cut(sqlite_store: str) -> None:
    with listening_service(sqlite_store, body_seconds=0.2) as listening:
        answer = asyncio.run(_trickled(listening))
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"application/problem+json" in answer


async def _trickled(listening: ListeningService) -> bytes:
    """Send a body byte by byte and return the answer, up to the end of the connection."""
    host, port = listening.address
    reader, writer = await asyncio.open_connection(host, port)
    token = listening.service.token_of[Role.ADMIN]
    head = (
        "POST /v1/streams HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        f"Content-Length: {TEN_MEGABYTES[:-1]}\r\nAuthorization: Bearer {token}\r\n\r\n"
    )
    writer.write(head.encode())

    async def trickle() -> None:
        while True:
            writer.write(b"[")
            await asyncio.sleep(0.01)

    sending = asyncio.ensure_future(trickle())
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            # What was on its way when the service closed resets the connection, after the answer.
            answer = b""
            with suppress(ConnectionError):
                while part := await reader.read(65_536):
                    answer += part
            return answer
    finally:
        sending.cancel()
        writer.close()

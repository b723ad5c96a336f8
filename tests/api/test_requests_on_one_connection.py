"""Requests that share a connection share nothing else, whoever sends them.

a token confined to a stream ──a long body, or two requests at once──► connection
any other token ──next request on it──► the answer it has on a connection of its own
"""

import json
import re
import socket
from collections.abc import Callable
from contextlib import closing
from contextvars import ContextVar, copy_context
from http.client import HTTPConnection, HTTPResponse
from typing import Any

import pytest
from typer import BadParameter

from api.store_option import settings_of
from contract.service.tokens import Role
from tests.api.documents import processor_document
from tests.api.listening import ListeningService, listening_service
from tests.patience import PATIENCE_SECONDS

WRONG = {"Authorization": "Bearer wrong"}
LONG = 200 * 1_024
"""Bytes of a body that uvicorn pauses and resumes reading for."""


@pytest.fixture
def confined(listening: ListeningService) -> str:
    """A publisher's token of another stream than the one there is."""
    document = {"name": "confined", "role": "publisher", "streams": ["payments"]}
    return str(listening.service.done("POST", "/v1/tokens", document)["token"])


def admin(listening: ListeningService) -> str:
    return listening.service.token_of[Role.ADMIN]


def connected(listening: ListeningService) -> closing[HTTPConnection]:
    return closing(HTTPConnection(*listening.address, timeout=PATIENCE_SECONDS))


def answered(
    connection: HTTPConnection, method: str, path: str, body: bytes | None = None, /, **headers: str
) -> tuple[int, bytes]:
    """Make a request on a connection, and return status and body of the answer."""
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    return answer.status, answer.read()


def head(method: str, path: str, token: str, length: int = 0) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: percept", f"Authorization: Bearer {token}"]
    if length:
        lines += ["Content-Type: application/json", f"Content-Length: {length}"]
    return "\r\n".join([*lines, "", ""]).encode()


def answers(sent: socket.socket, count: int) -> list[int]:
    statuses = []
    for _ in range(count):
        response = HTTPResponse(sent)
        response.begin()
        response.read()
        statuses.append(response.status)
    return statuses


def long_body() -> bytes:
    return json.dumps(processor_document(description="x" * LONG)).encode()


def test_the_body_of_an_answer_does_not_wait_until_its_head_is_acknowledged(
    listening: ListeningService,
) -> None:
    with connected(listening) as connection:
        assert answered(connection, "GET", "/healthz")[1]
        (accepted,) = listening.server.server_state.connections
        accepted_socket = accepted.transport.get_extra_info("socket")
        assert accepted_socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_after_a_long_body_of_a_confined_token_others_see_all(
    listening: ListeningService, confined: str
) -> None:
    with connected(listening) as connection:
        for _ in range(3):
            own = {"Authorization": f"Bearer {confined}", "Content-Type": "application/json"}
            assert answered(connection, "POST", "/v1/processors", long_body(), **own)[1]
            for token, names in ((admin(listening), ["logins"]), (confined, [])):
                own = {"Authorization": f"Bearer {token}"}
                status, body = answered(connection, "GET", "/v1/streams", **own)
                streams = json.loads(body)["items"]
                assert (status, [each["name"] for each in streams]) == (200, names)


def test_requests_that_are_sent_at_once_are_answered_to_the_token_of_each(
    listening: ListeningService, confined: str
) -> None:
    tokens = (confined, admin(listening)) * 2
    with socket.create_connection(listening.address, PATIENCE_SECONDS) as sent:
        sent.sendall(b"".join(head("GET", "/v1/streams/logins", token) for token in tokens))
        reader = sent.makefile("rb")
        found = []
        for _ in tokens:
            found.append(int(reader.readline().split()[1]))
            length = 0
            while (line := reader.readline().strip()) != b"":
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            reader.read(length)
    assert found == [404, 200, 404, 200]


def test_no_context_variable_of_a_request_is_seen_by_the_next_one(
    listening: ListeningService, confined: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    left_behind: ContextVar[int] = ContextVar("left behind", default=0)
    seen: list[set[str]] = []
    app: Callable[..., Any] = listening.server.config.loaded_app

    async def watched(scope: Any, receive: Any, send: Any) -> None:
        seen.append({variable.name for variable in copy_context()})
        left_behind.set(1)
        await app(scope, receive, send)

    monkeypatch.setattr(listening.server.config, "loaded_app", watched)
    body = long_body()
    with socket.create_connection(listening.address, PATIENCE_SECONDS) as sent:
        for _ in range(3):
            sent.sendall(head("POST", "/v1/processors", confined, len(body)) + body)
            assert answers(sent, 1) != [401]
    assert len(seen) == 3
    assert seen == [set()] * 3


def test_after_a_body_whose_end_is_not_sure_the_connection_is_closed(
    listening: ListeningService,
) -> None:
    for version, framing in (
        ("1.1", "Content-Length: 4\r\nTransfer-Encoding: chunked"),
        ("1.1", "Transfer-Encoding: chunked\r\nContent-Length: 0"),
        ("1.1", "Transfer-Encoding: chunked, identity"),
        ("1.1", "Content-Length: 4\r\nContent-Length: 5"),
        ("1.0", "Transfer-Encoding: chunked"),
    ):
        first = f"POST /v1/validate HTTP/{version}\r\nHost: percept\r\n{framing}\r\n\r\n0\r\n\r\n"
        with socket.create_connection(listening.address, PATIENCE_SECONDS) as sent:
            sent.sendall(first.encode() + head("GET", "/v1/streams", admin(listening)))
            reader = sent.makefile("rb")
            assert reader.readline().startswith(b"HTTP/1.1 400 ")
            assert b"HTTP/1.1" not in reader.read()


def test_only_a_proxy_that_is_named_says_who_asks(migrated_store: Callable[[str], str]) -> None:
    for proxies, statuses in (("", [401, 429]), ("10.0.0.0/8, 127.0.0.1", [401, 401])):
        settings = {"requests_per_second": 0.001, "trusted_proxies": proxies}
        store = migrated_store("sqlite")
        with listening_service(store, **settings) as listening, connected(listening) as connection:
            found = [
                answered(connection, "GET", "/v1/streams", **{"X-Forwarded-For": each} | WRONG)
                for each in ("192.0.2.1", "192.0.2.2")
            ]
        assert [status for status, _ in found] == statuses, proxies
    for wrong in ("*", "10.0.0.1/8", "proxy"):
        told = re.escape(f"trusted_proxies: '{wrong}' is no address. Write")
        with pytest.raises(BadParameter, match=f"^{told}"):
            settings_of(trusted_proxies=wrong)

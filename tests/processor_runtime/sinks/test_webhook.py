"""Posts have the same key whenever they are repeated, and an end, whatever the receiver does."""

import hashlib
import hmac
import json
import logging
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest

from discoverers.clock import Backoff
from processor_runtime.spark.sinks import JobOutput, JobOutputs, OutputFailed, create_sinks
from processor_runtime.spark.sinks.webhook.requests import (
    Deadline,
    WebhookRefused,
    WebhookRequests,
    idempotency_key,
)
from processor_runtime.spark.sinks.webhook.sink import WebhookSink, parts
from tests.processor_runtime.sinks.rows import Frame, late, match, output, surroundings

URL = "https://hooks.example.org/services/T000/hush-hush"


@dataclass
class Receiver:
    """Answers what a script says, then 204; remembers what it has taken."""

    script: list[httpx2.Response | Exception] = field(default_factory=list)
    requests: list[httpx2.Request] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)

    async def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        answer = self.script.pop(0) if self.script else httpx2.Response(204)
        if isinstance(answer, Exception):
            raise answer
        return answer

    @contextmanager
    def requests_to(self, **keys: Any) -> Iterator[WebhookRequests]:
        """Yield what sends to it."""
        requests = WebhookRequests(
            webhook(**keys),
            token="t0ken",  # noqa: S106 - made up
            secret="s3cret",  # noqa: S106 - made up
            transport=httpx2.MockTransport(self),
            backoff=Backoff(first_seconds=1, jitter=lambda: 1.0),
            sleep=self.pauses.append,
        )
        try:
            yield requests
        finally:
            requests.close()

    def deliver(
        self, body: bytes = b"[]", give_up_after_seconds: float = 1_000, **keys: Any
    ) -> None:
        with self.requests_to(**keys) as requests:
            requests.deliver(body, "key-1", Deadline.after(give_up_after_seconds, lambda: 0.0))


def webhook(**keys: Any) -> Any:
    return output(**{"type": "webhook", "url": URL} | keys)


def test_a_request_has_its_key_its_token_and_the_signature_of_its_body() -> None:
    receiver = Receiver()
    receiver.deliver(b'[{"a":1}]', headers={"X-Team": "fraud"})
    (request,) = receiver.requests
    assert (request.method, str(request.url)) == ("POST", URL)
    assert request.headers["Idempotency-Key"] == "key-1"
    assert request.headers["Authorization"] == "Bearer t0ken"
    assert request.headers["Content-Type"] == "application/json"
    assert request.headers["X-Team"] == "fraud"
    expected = hmac.new(b"s3cret", b'[{"a":1}]', hashlib.sha256).hexdigest()
    assert request.headers["X-Percept-Signature"] == f"sha256={expected}"


def test_what_may_pass_is_tried_again_with_the_same_key_after_growing_pauses() -> None:
    overloaded = httpx2.Response(429, headers={"Retry-After": "30"})
    receiver = Receiver([httpx2.ConnectError("refused"), httpx2.Response(503), overloaded])
    receiver.deliver()
    assert receiver.pauses == [1, 2, 30]
    assert {request.headers["Idempotency-Key"] for request in receiver.requests} == {"key-1"}


@pytest.mark.parametrize("status", [301, 400, 401, 404, 410, 422])
def test_what_will_not_pass_is_refused_at_once(status: int) -> None:
    receiver = Receiver([httpx2.Response(status, headers={"Location": "https://other"})])
    with pytest.raises(WebhookRefused, match=f"answered {status}"):
        receiver.deliver()
    assert len(receiver.requests) == 1


def test_after_so_many_retries_it_is_over() -> None:
    receiver = Receiver([httpx2.Response(500)] * 9)
    with pytest.raises(WebhookRefused, match="tried 3 times, the last time it answered 500"):
        receiver.deliver(retries=2)
    assert len(receiver.requests) == 3


def test_a_pause_beyond_the_time_for_the_batch_is_not_begun() -> None:
    receiver = Receiver([httpx2.Response(503, headers={"Retry-After": "999999"})])
    with pytest.raises(WebhookRefused, match="the time for this batch is up"):
        receiver.deliver(give_up_after_seconds=60)
    assert receiver.pauses == []


@contextmanager
def dripping_server(released: threading.Event) -> Iterator[str]:
    """A server that sends one header after the other and never comes to an end."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def drip() -> None:
            connection, _ = listener.accept()
            # The other side goes away first.
            with connection, suppress(OSError):
                connection.sendall(b"HTTP/1.1 200 OK\r\n")
                while not released.wait(0.01):
                    connection.sendall(b"X-More: x\r\n")

        thread = threading.Thread(target=drip)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        released.set()
        thread.join()


@pytest.mark.parametrize(
    ("of_request", "of_batch", "told"),
    [
        ({"timeout_seconds": 0.2, "retries": 0}, 60, r"there was no answer within 0\.2 s"),
        # The time of a request is never more than is left for the batch.
        ({"timeout_seconds": 300}, 0.2, "the time for this batch is up"),
    ],
)
def test_an_answer_that_comes_drop_by_drop_has_an_end(
    of_request: dict[str, Any], of_batch: float, told: str
) -> None:
    released = threading.Event()
    with dripping_server(released) as url:
        requests = WebhookRequests(webhook(url=url, **of_request))
        began = time.monotonic()
        with pytest.raises(WebhookRefused, match=told):
            requests.deliver(b"[]", "key-1", Deadline.after(of_batch))
        requests.close()
    assert time.monotonic() - began < 60


def test_parts_are_bounded_in_rows_and_bytes_but_hold_at_least_one() -> None:
    large = b"x" * 600_000
    found = list(parts([b"a", b"b", b"c", large, large, b"x" * 2_000_000, b"d"], 2))
    shown = [list(map(len, part)) for part in found]
    assert shown == [[1, 1], [1, 600_000], [600_000], [2_000_000], [1]]


def test_a_key_names_job_batch_and_content() -> None:
    keys = {
        idempotency_key(prefix, batch, body)
        for prefix in ("checkpoint-1/hook", "checkpoint-2/hook")
        for batch in (1, 2)
        for body in (b"[1]", b"[2]")
    }
    assert len(keys) == 8


@pytest.mark.spark
def test_a_batch_that_is_written_again_makes_the_same_requests(frame: Frame) -> None:
    rows = [*map(match, range(5)), late("ana"), late("ana")]
    posted = []
    for order in (rows, list(reversed(rows))):
        receiver = Receiver()
        with receiver.requests_to() as requests:
            sink = WebhookSink(webhook(rows_per_request=3), surroundings(), requests)
            sink.write(frame(*order).repartition(3), 8, 7)
        sent = ((each.headers["Idempotency-Key"], each.content) for each in receiver.requests)
        posted.append(list(sent))
    assert posted[0] == posted[1]
    assert [len(json.loads(body)) for _, body in posted[0]] == [3, 3, 1]
    first = json.loads(posted[0][0][1])[0]
    assert first["output"] == {"user": "eve", "failures": 0}


@pytest.mark.long
@pytest.mark.spark
def test_what_cannot_be_delivered_is_logged_as_lost_or_fails_the_batch(
    frame: Frame, caplog: pytest.LogCaptureFixture
) -> None:
    rows = frame(*map(match, range(5)))
    wanted = {"rows_per_request": 2, "retries": 0}
    receiver = Receiver([httpx2.Response(204), httpx2.Response(403)])
    with receiver.requests_to() as requests:
        sink = WebhookSink(webhook(on_failure="skip", **wanted), surroundings(), requests)
        outputs = JobOutputs([JobOutput("hook", frozenset({"match"}), frozenset(), sink)])
        outputs.write(rows, 8, {"match": 5})
        told = "3 of 5 rows of batch 8 are lost: the receiver answered"
        assert f"output 'hook': {told}" in caplog.text
        assert len(receiver.requests) == 2
        assert caplog.records[0].levelno == logging.ERROR
        (failing,) = outputs.failing
        assert (failing.name, failing.lost_rows) == ("hook", 3)
        assert failing.error.startswith(told)
        outputs.write(rows, 9, {})  # nothing is sent, so it is not known to be mended
        assert outputs.failing == (failing,)
        receiver.script = [httpx2.Response(204)] * 3
        outputs.write(rows, 10, {"match": 5})
        assert not outputs.failing
        receiver.requests.clear()

    receiver.script = [httpx2.Response(403)]
    with receiver.requests_to() as requests, pytest.raises(WebhookRefused, match="answered 403"):
        WebhookSink(webhook(**wanted), surroundings(), requests).write(rows, 9, 5)


@pytest.mark.long
@pytest.mark.spark
def test_a_failure_names_the_receiver_but_neither_its_path_nor_the_token(frame: Frame) -> None:
    keys = {"url": "http://127.0.0.1:1/services/hush-hush", "retries": 0}
    wanted = webhook(**keys, token_env="HOOK")  # noqa: S106 - the name of a variable
    around = surroundings(environment={"HOOK": "t0ken"})
    with create_sinks([wanted], around) as outputs, pytest.raises(OutputFailed) as told:
        outputs.write(frame(match()), 0, {"match": 1})
    assert str(told.value).startswith("output 'webhook': WebhookRefused: tried 1 times")
    assert "127.0.0.1" in str(told.value)
    assert "hush-hush" not in str(told.value)
    assert "t0ken" not in str(told.value)

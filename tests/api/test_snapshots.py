"""What jobs read: whole, unchanged, as soon as it changes, and as it once was."""

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.snapshot import Snapshot
from tests.api.documents import PATTERN, STREAM, processor_document
from tests.api.running import Service, running_service
from tests.patience import FAR_LONGER_SECONDS, PATIENCE_SECONDS
from tests.properties import slow_property

SNAPSHOT = "/v1/streams/logins/snapshot"
FAR_LONGER = f"{FAR_LONGER_SECONDS:g}s"


def read(service: Service, known: str | None = None, wait: str | None = None) -> Any:
    headers = {"If-None-Match": known} if known else {}
    return service.client.get(SNAPSHOT, headers=headers, params={"wait": wait} if wait else {})


@contextmanager
def waiting(service: Service) -> Iterator[Future[Any]]:
    """Let a reader wait for a change meanwhile, who must be answered in the end."""
    known = read(service).headers["ETag"]
    with ThreadPoolExecutor() as pool:
        answer = pool.submit(read, service, known, FAR_LONGER)
        service.wait_for_reader()
        yield answer
        answer.result(PATIENCE_SECONDS)


def test_a_wait_ends_unchanged_when_nothing_happens_and_misses_no_publish_before_it(
    with_stream: Service,
) -> None:
    known = read(with_stream).headers["ETag"]
    began = time.monotonic()
    assert read(with_stream, known, wait="0.2s").status_code == 304
    assert time.monotonic() - began >= 0.2
    known = read(with_stream).headers["ETag"]
    with_stream.publish()
    with ThreadPoolExecutor() as pool:
        answered = pool.submit(read, with_stream, known, FAR_LONGER)
        assert answered.result(PATIENCE_SECONDS).status_code == 200


def test_a_waiting_reader_gets_a_publish_at_once(with_stream: Service) -> None:
    with waiting(with_stream) as answer:
        with_stream.publish()
    assert (answer.result().status_code, answer.result().json()["epoch"]) == (200, 2)


def test_a_publish_in_another_process_wakes_a_waiting_reader(with_stream: Service) -> None:
    with running_service(with_stream.url) as other, waiting(with_stream) as answer:
        time.sleep(0.3)  # usually enough for the listener to other processes to be connected
        other.publish()
    assert answer.result().json()["epoch"] == 2


def test_a_stopping_service_lets_waiting_readers_go(with_stream: Service) -> None:
    with waiting(with_stream) as answer:
        with_stream.app.state.runtime.bell.close()
    assert answer.result().status_code == 304
    assert with_stream.client.get("/readyz").status_code == 503


IDS = st.sampled_from(["a", "b", "c"])
KINDS = ("put", "schedule", "pause", "resume", "delete", "rollback", "redefine")
ACTIONS = st.lists(st.tuples(st.sampled_from(KINDS), IDS, st.integers(1, 3)), max_size=12)


@pytest.mark.long
@slow_property()
@given(actions=ACTIONS)
def test_every_epoch_can_be_read_back_byte_for_byte(
    module_service: Service, actions: list[tuple[str, str, int]]
) -> None:
    service = module_service
    name = f"s{time.monotonic_ns()}"
    service.done("POST", "/v1/streams", STREAM | {"name": name})
    seen = {}
    for action in [None, *actions]:
        if action is not None:
            act(service, name, *action)
        answer = service.client.get(f"/v1/streams/{name}/snapshot")
        seen[answer.json()["epoch"]] = (answer.content, answer.headers["ETag"])
    for epoch, (content, etag) in seen.items():
        again = service.client.get(f"/v1/streams/{name}/epochs/{epoch}")
        assert (again.content, again.headers["ETag"]) == (content, etag)
        assert Snapshot.model_validate_json(content).epoch == epoch
    newest = max(seen)
    assert list(range(1, newest + 1)) == sorted(seen)
    service.get(f"/v1/streams/{name}/epochs/{newest + 1}", expect=404)


def act(service: Service, stream: str, action: str, local_id: str, number: int) -> None:
    processor_id = f"{stream}.{local_id}"
    path = f"/v1/processors/{processor_id}"
    pattern = PATTERN | {"within_ms": number, "within": None}
    document = processor_document(id=processor_id, stream=stream, pattern=pattern)
    if action == "redefine":
        definition = STREAM | {"name": stream, "allowed_delay_ms": number}
        answer = service.send("PUT", f"/v1/streams/{stream}", definition)
    elif action == "delete":
        answer = service.send("DELETE", path)
    elif action in {"put", "schedule"}:
        if action == "schedule":
            document["effective_from"] = "2030-01-01T00:00:00Z"
        answer = service.send("PUT", path, document)
        if answer.status_code == 404:
            answer = service.send("POST", "/v1/processors", document)
    else:
        body = {"version": number} if action == "rollback" else None
        answer = service.send("POST", f"{path}/{action}", body)
    assert answer.is_success or answer.status_code == 404, answer.text

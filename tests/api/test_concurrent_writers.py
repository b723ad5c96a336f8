"""Two writers at once never lose an update and never share an epoch, on either back end."""

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from api.list_store import repository as list_store
from api.processors import service as processors
from api.processors.views import existing_processor
from api.snooze_store import repository as snoozes
from api.streams import repository as streams
from api.transactions import Writing
from tests.api.documents import ANY_STATE, PATTERN, STREAM, processor_document
from tests.api.people import ask_for
from tests.api.running import ServiceUnderTest, running_service
from tests.patience import PATIENCE_SECONDS, eventually

WRITERS = 4
WRITES = 6
WAYS = 5


def test_of_writers_that_saw_the_same_state_exactly_one_wins(with_stream: ServiceUnderTest) -> None:
    client = with_stream.client
    client.post("/v1/processors", json=processor_document())
    path = "/v1/processors/failed-logins"
    for attempt in range(3):
        seen = client.get(path).headers["ETag"]

        def put(writer: int, seen: str = seen, first: int = attempt * WRITERS + 1) -> int:
            # Never what is there already: the same content again would change nothing.
            pattern = PATTERN | {"within": f"{first + writer} seconds"}
            document = processor_document(pattern=pattern)
            return client.put(path, json=document, headers={"If-Match": seen}).status_code

        with ThreadPoolExecutor(WRITERS) as pool:
            answers = sorted(pool.map(put, range(WRITERS)))
        assert answers == [200, *[412] * (WRITERS - 1)]


@pytest.mark.long
def test_no_update_is_lost_when_every_writer_tries_again(with_stream: ServiceUnderTest) -> None:
    client = with_stream.client
    client.post("/v1/processors", json=processor_document(tags=["start"]))
    path = "/v1/processors/failed-logins"

    def add_tags(writer: int) -> None:
        for number in range(WRITES):
            while True:
                seen = client.get(path)
                tags = [*seen.json()["tags"], f"w{writer}-{number}"]
                headers = {"If-Match": seen.headers["ETag"]}
                answer = client.patch(path, json={"tags": tags}, headers=headers)
                if answer.status_code == 200:
                    break
                assert answer.status_code == 412

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(add_tags, range(WRITERS)))

    expected = {f"w{writer}-{n}" for writer in range(WRITERS) for n in range(WRITES)} | {"start"}
    assert set(client.get(path).json()["tags"]) == expected


@pytest.mark.long
def test_epochs_are_without_gaps_and_unique_across_two_services(
    with_stream: ServiceUnderTest,
) -> None:
    with running_service(with_stream.url) as other:
        services = itertools.cycle([with_stream, other])

        def publish(pair: tuple[int, ServiceUnderTest]) -> Any:
            number, service = pair
            document = processor_document(id=f"p{number % 5}", description=str(number))
            answer = service.client.post("/v1/processors", json=document)
            path = f"/v1/processors/{document['id']}"
            if answer.status_code == 409:
                document["pattern"] = PATTERN | {"within_ms": number + 1, "within": None}
                answer = service.client.put(path, json=document, headers={"If-Match": "*"})
            return answer.status_code

        # FastAPI builds a route on its first request; two apps of one process must not at once.
        for first in ((0, with_stream), (0, other), (5, with_stream)):
            publish(first)
        with ThreadPoolExecutor(WRITERS) as pool:
            answers = list(pool.map(publish, zip(range(30), services, strict=False)))
        assert set(answers) <= {200, 201}
        changes = other.client.get("/v1/changes?stream=logins&limit=500").json()["items"]
        epochs = [change["epoch"] for change in changes if change["epoch"] is not None]
        newest = other.client.get("/v1/streams/logins").json()["epoch"]
        assert sorted(epochs) == list(range(1, newest + 1))
        bodies = [
            each.client.get("/v1/streams/logins/snapshot").content for each in (with_stream, other)
        ]
        assert bodies[0] == bodies[1]
        versions = {
            (change["processor_id"], change["new_version"])
            for change in changes
            if change["processor_id"] and change["epoch"]
        }
        assert len(versions) == newest - 1


def test_of_two_that_create_the_same_at_once_one_is_told_so(
    with_stream: ServiceUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Neither of them sees what the other one has not committed.
    client, unseen = with_stream.client, lambda *_args: None
    lists = "/v1/streams/logins/lists"
    vip = {"name": "vip", "type": "STRING"}
    assert client.post(lists, json=vip).status_code == 201
    for module, name, path, body in (
        (streams, "stream_of", "/v1/streams", STREAM),
        (list_store, "list_of", lists, vip),
    ):
        with monkeypatch.context() as racing:
            racing.setattr(module, name, unseen)
            second = client.post(path, json=body)
        assert (second.status_code, second.json()["status"]) == (409, 409), second.text
        assert "at the same moment" in second.json()["detail"]
    assert client.get(lists).json()["items"][0]["name"] == "vip"


@pytest.mark.long
def test_nothing_runs_without_approval_once_the_switch_is_acknowledged(
    with_stream: ServiceUnderTest,
) -> None:
    client, ids = with_stream.client, [f"rule-{number}" for number in range(WRITERS)]
    assert client.post(
        "/v1/streams/logins/lists", json={"name": "vip", "type": "STRING"}
    ).is_success
    for each in ids:
        assert client.post("/v1/processors", json=_document(each, 3_600)).is_success
        answer = client.put(
            f"/v1/processors/{each}", json=_document(each, 7_200), headers=ANY_STATE
        )
        assert answer.is_success
    switched = threading.Event()
    answers: list[tuple[bool, int]] = []

    def write(rule: str) -> None:
        after = 0
        for number in itertools.count():
            was_switched = switched.is_set()
            method, path, body = _write_of(rule, number)
            answer = client.request(method, path, json=body, headers=ANY_STATE)
            answers.append((was_switched, answer.status_code))
            after += was_switched
            if after == WAYS:
                return

    with ThreadPoolExecutor(WRITERS) as pool:
        writers = [pool.submit(write, rule) for rule in ids]
        eventually(lambda: len(answers) > 3 * WAYS)
        ask_for(with_stream, 1)
        switched.set()
        epoch = client.get("/v1/streams/logins").json()["epoch"]
        for writer in writers:
            writer.result(PATIENCE_SECONDS)
    assert {status for was_switched, status in answers if not was_switched} <= {200, 201, 403}
    assert {status for was_switched, status in answers if was_switched} == {403}
    assert client.get("/v1/streams/logins").json()["epoch"] == epoch
    changes = [each for page in with_stream.pages("/v1/changes") for each in page["items"]]
    newest, *others = [each for each in changes if each["stream"] == "logins"]
    assert newest["action"] == "stream.approvals"
    # What was refused has left nothing, and what was accepted is whole.
    assert {each["epoch"] for each in others} - {None} == set(range(1, epoch + 1))


def _write_of(rule: str, number: int) -> tuple[str, str, Any]:
    """Return one of the ways to change what runs, one after the other."""
    new = [_document(f"{rule}-{number}-{each}", number) for each in "ab"]
    both = {"changes": [{"action": "create", "document": each} for each in new]}
    ways = [
        ("PUT", f"/v1/processors/{rule}", _document(rule, number)),
        ("POST", "/v1/processors", new[0]),
        ("POST", f"/v1/processors/{rule}/rollback", {"version": 1 + number % 2}),
        ("POST", "/v1/streams/logins/change-sets", both),
        ("POST", "/v1/streams/logins/lists/vip/changes", {"add": [f"{rule}-{number}"]}),
    ]
    return ways[number % len(ways)]


def _document(rule: str, number: int) -> dict[str, Any]:
    return processor_document(id=rule, pattern=PATTERN | {"within": f"{number + 1} seconds"})


@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_a_rule_that_is_deleted_meanwhile_is_neither_snoozed_nor_woken(
    with_stream: ServiceUnderTest, method: str
) -> None:
    client, database = with_stream.client, with_stream.database
    client.post("/v1/processors", json=processor_document())
    path = "/v1/processors/failed-logins/snoozes"
    begun = client.post(path, json={"for": "1 hour"})
    at = path if method == "POST" else f"{path}/{begun.json()['number']}"
    body = {"for": "2 hours"} if method == "POST" else None
    with ThreadPoolExecutor(1) as pool:
        with database.writing() as session:
            writing = Writing(session, "test", with_stream.clock())
            processor = existing_processor(session, "failed-logins")
            processors.lock(writing, processor, "*")
            processors.delete(writing, processor)
            answer = pool.submit(client.request, method, at, json=body)
            if database.is_postgresql:  # on SQLite it waits before it has read anything
                eventually(lambda: is_waited_for(session))
        assert answer.result(PATIENCE_SECONDS).status_code == 404
    with database.reading() as session:
        assert not snoozes.open_snoozes(session, "logins")


def is_waited_for(session: Session) -> bool:
    """Return whether somebody waits for what a transaction has locked in PostgreSQL."""
    # Of pg_stat_activity a transaction sees always what it saw first.
    query = (
        "SELECT count(*) FROM pg_locks "
        "WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))"
    )
    return bool(session.scalar(text(query)))


@pytest.mark.parametrize("attempt", range(3))
def test_of_many_that_create_a_stream_at_once_one_does(
    with_stream: ServiceUnderTest, attempt: int
) -> None:
    stream = STREAM | {"name": f"payments-{attempt}"}

    def created(_writer: int) -> int:
        return with_stream.client.post("/v1/streams", json=stream).status_code

    with ThreadPoolExecutor(WRITERS) as pool:
        answers = sorted(pool.map(created, range(WRITERS)))
    assert answers == [201, *[409] * (WRITERS - 1)]

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
from contract.service.tokens import Role
from tests.api.documents import PATTERN, STREAM, processor_document
from tests.api.people import ask_for
from tests.api.running import Service, running_service
from tests.patience import PATIENCE_SECONDS, eventually

RULE = "/v1/processors/failed-logins"
WRITERS = 4
WRITES = 6
WAYS = 5


def test_of_writers_that_saw_the_same_state_exactly_one_wins(with_rule: Service) -> None:
    for attempt in range(3):
        seen = {"If-Match": with_rule.client.get(RULE).headers["ETag"]}
        # Never what is there already: the same content again would change nothing.
        first = attempt * WRITERS
        documents = [_document("failed-logins", first + writer) for writer in range(WRITERS)]
        with ThreadPoolExecutor(WRITERS) as pool:
            made = [pool.submit(with_rule.send, "PUT", RULE, each, **seen) for each in documents]
        statuses = sorted(each.result().status_code for each in made)
        assert statuses == [200, *[412] * (WRITERS - 1)]


@pytest.mark.long
def test_no_update_is_lost_when_every_writer_tries_again(with_stream: Service) -> None:
    with_stream.publish(tags=["start"])

    def add_tag(tag: str) -> None:
        while True:
            seen = with_stream.client.get(RULE)
            body, state = {"tags": [*seen.json()["tags"], tag]}, {"If-Match": seen.headers["ETag"]}
            answer = with_stream.send("PATCH", RULE, body, **state)
            if answer.status_code == 200:
                return
            assert answer.status_code == 412

    tags = [f"w{number}" for number in range(WRITERS * WRITES)]
    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(add_tag, tags))
    assert set(with_stream.get(RULE)["tags"]) == {*tags, "start"}


@pytest.mark.long
def test_epochs_are_without_gaps_and_unique_across_two_services(with_stream: Service) -> None:
    with running_service(with_stream.url) as other:
        services = itertools.cycle([with_stream, other])

        def publish(pair: tuple[int, Service]) -> None:
            number, service = pair
            within = {} if number < 5 else {"within_ms": number + 1, "within": None}
            service.publish(id=f"p{number % 5}", pattern=PATTERN | within)

        # FastAPI builds a route on its first request; two apps of one process must not at once.
        for first in ((0, with_stream), (0, other), (5, with_stream)):
            publish(first)
        with ThreadPoolExecutor(WRITERS) as pool:
            list(pool.map(publish, zip(range(30), services, strict=False)))
        changes = other.log(stream="logins", limit=500)
        epochs = [change["epoch"] for change in changes if change["epoch"] is not None]
        newest = other.epoch()
        assert sorted(epochs) == list(range(1, newest + 1))
        one, another = (
            each.client.get("/v1/streams/logins/snapshot").content for each in (with_stream, other)
        )
        assert one == another
        versions = {
            (change["processor_id"], change["new_version"])
            for change in changes
            if change["processor_id"] and change["epoch"]
        }
        assert len(versions) == newest - 1


def test_of_two_that_create_the_same_at_once_one_is_told_so(
    with_stream: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    lists, vip = "/v1/streams/logins/lists", {"name": "vip", "type": "STRING"}
    with_stream.done("POST", lists, vip)
    for module, name, path, body in (
        (streams, "stream_of", "/v1/streams", STREAM),
        (list_store, "list_of", lists, vip),
    ):
        with monkeypatch.context() as racing:
            # Neither of them sees what the other one has not committed.
            racing.setattr(module, name, lambda *_args: None)
            second = with_stream.post(path, Role.ADMIN, body, expect=409)
        assert second["status"] == 409
        assert "at the same moment" in second["detail"]
    assert with_stream.get(lists)["items"][0]["name"] == "vip"


@pytest.mark.long
def test_nothing_runs_without_approval_once_the_switch_is_acknowledged(
    with_stream: Service,
) -> None:
    ids = [f"rule-{number}" for number in range(WRITERS)]
    with_stream.done("POST", "/v1/streams/logins/lists", {"name": "vip", "type": "STRING"})
    for each in ids:
        for number in (3_600, 7_200):
            with_stream.publish(**_document(each, number))
    switched = threading.Event()
    answers: list[tuple[bool, int]] = []

    def write(rule: str) -> None:
        after = 0
        for number in itertools.count():
            was_switched = switched.is_set()
            answer = with_stream.send(*_write_of(rule, number))
            answers.append((was_switched, answer.status_code))
            after += was_switched
            if after == WAYS:
                return

    with ThreadPoolExecutor(WRITERS) as pool:
        writers = [pool.submit(write, rule) for rule in ids]
        eventually(lambda: len(answers) > 3 * WAYS)
        ask_for(with_stream, 1)
        switched.set()
        epoch = with_stream.epoch()
        for writer in writers:
            writer.result(PATIENCE_SECONDS)
    assert {status for was_switched, status in answers if not was_switched} <= {200, 201, 403}
    assert {status for was_switched, status in answers if was_switched} == {403}
    assert with_stream.epoch() == epoch
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
    with_rule: Service, method: str
) -> None:
    database, path = with_rule.database, f"{RULE}/snoozes"
    begun = with_rule.done("POST", path, {"for": "1 hour"})
    at, body = (
        (path, {"for": "2 hours"}) if method == "POST" else (f"{path}/{begun['number']}", None)
    )
    with ThreadPoolExecutor(1) as pool:
        with database.writing() as session:
            writing = Writing(session, "test", with_rule.clock())
            processor = existing_processor(session, "failed-logins")
            processors.lock(writing, processor, "*")
            processors.delete(writing, processor)
            answer = pool.submit(with_rule.client.request, method, at, json=body)
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


def test_of_many_that_create_a_stream_at_once_one_does(with_stream: Service) -> None:
    for attempt in range(3):
        new = [STREAM | {"name": f"payments-{attempt}"}] * WRITERS
        with ThreadPoolExecutor(WRITERS) as pool:
            answers = pool.map(lambda each: with_stream.send("POST", "/v1/streams", each), new)
            statuses = sorted(answer.status_code for answer in answers)
        assert statuses == [201, *[409] * (WRITERS - 1)]

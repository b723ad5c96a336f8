"""A change set is one change: all or nothing, what single changes amount to, one epoch for all."""

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from httpx2 import Response
from hypothesis import given
from hypothesis import strategies as st

from api.processors import service as processor_service
from tests.api.change_sets import everything, send
from tests.api.documents import ANY_STATE, PATTERN, STREAM, processor_document
from tests.api.running import Service, running_service
from tests.properties import slow_property

RULES = ("a", "b", "c")
WRITERS = 4
WRITES = 5


def document(rule: str, number: int = 1, **changes: Any) -> dict[str, Any]:
    pattern = PATTERN | {"within": f"{number} minutes"}
    return processor_document(id=rule, pattern=pattern, **changes)


def changes_of_rules() -> st.SearchStrategy[dict[str, Any]]:
    """Any change; some of them cannot be made in the state that they meet."""
    ids, numbers, true = st.sampled_from(RULES), st.integers(1, 3), st.just(value=True)
    plain = st.builds(document, ids, numbers)
    scheduled = st.builds(document, ids, numbers, effective_from=st.just("2030-01-01T00:00:00Z"))
    shares = st.sampled_from([0, 5, 50])

    def change(*actions: str, **parts: Any) -> st.SearchStrategy[dict[str, Any]]:
        return st.fixed_dictionaries({"action": st.sampled_from(actions), **parts})

    simple = ("pause", "resume", "delete", "promote_rollout", "end_rollout")
    owners = st.fixed_dictionaries({"owner": st.sampled_from(["x", "y"])})
    return st.one_of(
        change("publish", "publish", "replace", document=st.one_of(plain, plain, scheduled)),
        change("create", document=plain),
        change("create", document=plain, paused=true),
        change("create", document=plain, shadow=true),
        change(*simple, id=ids),
        change("rollback", "cancel", id=ids, version=numbers),
        change("start_rollout", document=plain, share_percent=shares),
        change("share_rollout", id=ids, share_percent=shares),
        change("label", id=ids, labels=owners),
    )


AT_FIRST = (
    {"action": "create", "document": document("a")},
    {"action": "replace", "document": document("a", 2)},
    {"action": "create", "document": document("b"), "paused": True},
)
"""What there is before the changes."""


@pytest.mark.long
@slow_property()
@given(changes=st.lists(changes_of_rules(), min_size=4, max_size=14))
def test_a_set_is_what_its_changes_amount_to_one_by_one(
    module_service: Service, changes: list[dict[str, Any]]
) -> None:
    service, moment = module_service, time.monotonic_ns()
    together, alone = f"t{moment}", f"s{moment}"
    for stream in (together, alone):
        service.done("POST", "/v1/streams", STREAM | {"name": stream})
        for change in AT_FIRST:
            assert alone_made(service, stream, change).is_success
    before = left_by(service, together)
    made: list[dict[str, Any]] = []
    first_refused: list[dict[str, Any]] = []
    for change in changes:
        if alone_made(service, alone, change).is_success:
            made.append(change)
        elif not first_refused:
            first_refused = [*made, change]
    if first_refused:
        refused = sent(service, together, first_refused)
        assert refused.is_client_error
        assert "Nothing was changed" in refused.json()["detail"]
        assert left_by(service, together) == before
    if made:
        tried = sent(service, together, made, dry_run="true")
        assert left_by(service, together) == before
        answer = sent(service, together, made)
        assert (tried.status_code, answer.status_code) == (200, 200), answer.text
        undiffering = [change | {"differences": None} for change in tried.json()["changes"]]
        assert undiffering == answer.json()["changes"]
    assert left_by(service, together) == left_by(service, alone)
    newest = service.epoch(together)
    assert newest in {1 + len(AT_FIRST), 2 + len(AT_FIRST)}
    path = f"/v1/streams/{together}"
    snapshot = service.client.get(f"{path}/snapshot").content
    assert service.client.get(f"{path}/epochs/{newest}").content == snapshot


def of_stream(stream: str, change: dict[str, Any]) -> dict[str, Any]:
    """Return a change of a rule of this stream, whose ids begin with its name."""
    if "document" not in change:
        return change | {"id": f"{stream}.{change['id']}"}
    written = change["document"]
    return change | {"document": written | {"id": f"{stream}.{written['id']}", "stream": stream}}


def sent(
    service: Service, stream: str, changes: list[dict[str, Any]], dry_run: str = "false"
) -> Response:
    seen: set[str] = set()
    based = []
    for written in changes:
        change = of_stream(stream, written)
        rule = change.get("id") or change["document"]["id"]
        is_first, is_new = rule not in seen, change["action"] == "create"
        based.append(change | ({"based_on": "*"} if is_first and not is_new else {}))
        seen.add(rule)
    path, query = f"/v1/streams/{stream}/change-sets", {"dry_run": dry_run}
    return service.client.post(path, json={"changes": based}, params=query)


def alone_made(service: Service, stream: str, written: dict[str, Any]) -> Response:
    """Make a change by the request of its own."""
    change = of_stream(stream, written)
    action, body = change["action"], change.get("document", {})
    new = {name: "true" for name in ("paused", "shadow") if change.get(name)}
    if action == "create":
        return service.client.post("/v1/processors", json=body, params=new)
    requests: dict[str, tuple[str, str, dict[str, Any] | None]] = {
        "publish": ("PUT", "", body),
        "replace": ("PUT", "", body),
        "label": ("PATCH", "", change.get("labels")),
        "pause": ("POST", "/pause", None),
        "resume": ("POST", "/resume", None),
        "rollback": ("POST", "/rollback", {"version": change.get("version")}),
        "cancel": ("POST", f"/versions/{change.get('version')}/cancel", None),
        "delete": ("DELETE", "", None),
        "start_rollout": ("POST", f"/rollout?share_percent={change.get('share_percent')}", body),
        "share_rollout": ("PATCH", "/rollout", {"share_percent": change.get("share_percent")}),
        "promote_rollout": ("POST", "/rollout/promote", None),
        "end_rollout": ("DELETE", "/rollout", None),
    }
    method, path, content = requests[action]
    whole = f"/v1/processors/{change.get('id') or body['id']}{path}"
    answer = service.client.request(method, whole, json=content, headers=ANY_STATE)
    if answer.status_code == 404 and action == "publish":
        return service.client.post("/v1/processors", json=body)
    return answer


def left_by(service: Service, stream: str) -> dict[str, Any]:
    """Return what the changes of a stream have left, without its name and numbers of epochs."""
    log = service.log(stream=stream, limit=500)
    lines = [(each["processor_id"], each["action"], each["new_version"]) for each in log]
    rules = {}
    for rule in RULES:
        path = f"/v1/processors/{stream}.{rule}"
        versions = service.client.get(f"{path}/versions?limit=500")
        if versions.status_code == 200:
            history = versions.json()["items"]
            for each in history:
                # Jobs never see what is published and replaced within one set.
                del each["was_only_tried"]
            rules[rule] = [service.client.get(path).json(), history]
            rules[rule][0].pop("request_id", None)
    snapshot = service.snapshot(stream) | {"epoch": 0}
    told = {"rules": rules, "log": lines[:-1], "snapshot": snapshot}
    anonymous: dict[str, Any] = without(told, stream)
    return anonymous


def without(value: Any, name: str) -> Any:
    """Return a value with a name in its texts replaced."""
    if isinstance(value, dict):
        return {without(key, name): without(each, name) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [without(each, name) for each in value]
    return value.replace(name, "STREAM") if isinstance(value, str) else value


@pytest.mark.parametrize("dry_run", ["true", "false"])
def test_a_death_between_two_changes_leaves_nothing(
    database_url: str, monkeypatch: pytest.MonkeyPatch, dry_run: str
) -> None:
    with running_service(database_url, raise_failures=False) as service:
        service.client.post("/v1/streams", json=STREAM)
        for rule in RULES:
            service.client.post("/v1/processors", json=document(rule))
        before = everything(service)
        pauses = [{"action": "pause", "id": rule, "based_on": 1} for rule in RULES]
        really, key = processor_service.pause, {"Idempotency-Key": "k"}
        paused: list[str] = []

        def dies(writing: Any, processor: Any) -> Any:
            if len(paused) == len(RULES) - 1:
                raise RuntimeError("dies")
            paused.append(processor.id)
            return really(writing, processor)

        query = {"dry_run": dry_run}
        with monkeypatch.context() as dying:
            dying.setattr(processor_service, "pause", dies)
            answer = send(service, *pauses, headers=key, params=query)
        assert (answer.status_code, len(paused)) == (500, len(RULES) - 1)
        assert everything(service) == before
        again = send(service, *pauses, headers=key, params=query)
        assert again.status_code == 200
        assert "Idempotent-Replayed" not in again.headers


def of_all_rules(number: int, based_on: int | str = "*") -> list[dict[str, Any]]:
    """Return changes that put the same number into each rule."""
    change = {"action": "replace", "based_on": based_on}
    return [change | {"document": document(rule, number)} for rule in RULES]


def test_of_sets_that_saw_the_same_state_exactly_one_is_made(with_stream: Service) -> None:
    for rule in RULES:
        with_stream.publish(id=rule)
    for attempt in range(3):
        seen = with_stream.get("/v1/processors/a")["revision"]
        first = attempt * WRITERS + 20
        sets = [of_all_rules(first + writer, seen) for writer in range(WRITERS)]
        with ThreadPoolExecutor(WRITERS) as pool:
            answers = list(pool.map(lambda changes: send(with_stream, *changes), sets))
        assert Counter(answer.status_code for answer in answers) == {200: 1, 412: WRITERS - 1}
        epoch = next(answer.json()["epoch"] for answer in answers if answer.is_success)
        assert epoch == with_stream.epoch() == 2 + len(RULES) + attempt


@pytest.mark.long
def test_many_at_once_have_epochs_of_their_own_and_no_reader_sees_half_a_set(
    with_stream: Service,
) -> None:
    for rule in RULES:
        with_stream.publish(id=rule, pattern=PATTERN | {"within": "1 minutes"})
    with_stream.publish(id="alone")
    before = with_stream.epoch()
    with running_service(with_stream.url) as other:
        services = (with_stream, other)
        for service in services:
            # FastAPI builds a route on its first request; two apps of one process must not at once.
            nothing = send(service, {"action": "resume", "id": "alone", "based_on": "*"})
            assert nothing.json()["epoch"] is None

        def write(writer: int) -> list[int]:
            made = []
            for number in range(WRITES):
                service = services[(writer + number) % 2]
                if writer == 0:
                    service.done("POST", f"/v1/processors/alone/{('pause', 'resume')[number % 2]}")
                else:
                    answer = send(service, *of_all_rules(2 + writer * WRITES + number))
                    assert answer.status_code == 200, answer.text
                    made.append(answer.json()["epoch"])
            return made

        done, torn = threading.Event(), []

        def read() -> None:
            while not done.is_set():
                for service in services:
                    snapshot = service.snapshot()
                    within = {
                        each["versions"][0]["definition"]["pattern"]["within"]
                        for each in snapshot["processors"]
                        if each["id"] in RULES
                    }
                    if len(within) != 1:
                        torn.append(snapshot)

        reader = threading.Thread(target=read)
        reader.start()
        try:
            with ThreadPoolExecutor(WRITERS) as pool:
                epochs = [epoch for made in pool.map(write, range(WRITERS)) for epoch in made]
        finally:
            done.set()
            reader.join()
        assert not torn
        bodies = {each.client.get("/v1/streams/logins/snapshot").content for each in services}
        assert len(bodies) == 1
    assert len(set(epochs)) == len(epochs) == (WRITERS - 1) * WRITES
    newest = with_stream.epoch()
    assert newest == before + WRITERS * WRITES
    log = with_stream.log(stream="logins", limit=500)
    lines = Counter(line["epoch"] for line in log if line["epoch"] > before)
    assert sorted(lines) == list(range(before + 1, newest + 1))
    assert all(count == (len(RULES) if epoch in epochs else 1) for epoch, count in lines.items())

"""The life of a processor: created, replaced, scheduled, paused, rolled back, deleted."""

from collections.abc import Callable
from typing import Any

import pytest
from httpx2 import Response

from contract.service.tokens import Role
from tests.api.documents import ANY_STATE, PATTERN, processor_document
from tests.api.running import Service

ID = "failed-logins"
PATH = f"/v1/processors/{ID}"
LATER = "2030-01-01T00:00:00Z"
STATES = ("published", "scheduled", "shadow", "paused", "deleted")
OTHER_PATTERN = PATTERN | {"within": "5 minutes"}


def put(service: Service, **changes: Any) -> Response:
    return service.send("PUT", PATH, processor_document(**changes))


def act(service: Service, action: str, **body: Any) -> Response:
    return service.send("POST", f"{PATH}/{action}", body or None)


def published_versions(service: Service) -> list[int]:
    return [
        version["version"]
        for processor in service.snapshot()["processors"]
        for version in processor["versions"]
    ]


def test_a_created_processor_is_in_the_next_snapshot_once_however_it_is_spelled(
    with_stream: Service,
) -> None:
    described = {"severity": "high", "description": "three failures, then a login"}
    with_stream.publish(**described)
    shown = with_stream.snapshot()
    (processor,) = shown["processors"]
    assert (shown["epoch"], processor["id"], processor["paused"]) == (2, ID, False)
    definition = {"pattern": PATTERN, "key_by": ["user"], "severity": "high"}
    assert processor["versions"][0]["definition"] == definition
    spelled = {"steps": PATTERN["steps"], "within_ms": 600_000, "within_type": "first_and_last"}
    assert put(with_stream, pattern=spelled, **described).json()["version"] == 1
    assert with_stream.epoch() == 2


def test_new_labels_make_neither_a_version_nor_an_epoch_but_an_entry_in_the_log(
    with_stream: Service,
) -> None:
    before = with_stream.publish()
    after = put(with_stream, tags=["beta", "alpha"], owner="fraud").json()
    patched = with_stream.done("PATCH", PATH, {"tags": ["b"]})
    assert (after["version"], after["tags"], after["owner"]) == (1, ["alpha", "beta"], "fraud")
    assert (patched["tags"], patched["owner"]) == (["b"], "fraud")
    assert patched["revision"] == before["revision"] + 2
    assert with_stream.epoch() == 2
    shown = [change["action"] for change in with_stream.log(processor=ID)]
    assert shown == ["processor.label", "processor.label", "processor.create"]


CHANGES: dict[str, tuple[str, str, Any]] = {
    "put": ("PUT", "", processor_document(pattern=OTHER_PATTERN)),
    "label": ("PATCH", "", {"owner": "fraud"}),
    "pause": ("POST", "/pause", None),
    "resume": ("POST", "/resume", None),
    "roll back": ("POST", "/rollback", {"version": 1}),
    "cancel": ("POST", "/versions/2/cancel", None),
    "delete": ("DELETE", "", None),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_names_the_state_it_was_made_from(with_rule: Service, change: str) -> None:
    stale = with_rule.client.get(PATH).headers["ETag"]
    put(with_rule, pattern=OTHER_PATTERN, effective_from=LATER)
    seen = with_rule.client.get(PATH).headers["ETag"]
    epoch = with_rule.epoch()
    method, action, body = CHANGES[change]

    def make(**headers: str) -> int:
        path = f"{PATH}{action}"
        return with_rule.client.request(method, path, json=body, headers=headers).status_code

    assert make() == 428
    assert make(**{"If-Match": stale}) == 412
    for malformed in (f"*,{stale}", seen.strip('"'), ""):
        assert make(**{"If-Match": malformed}) == 422
    assert with_rule.epoch() == epoch
    assert make(**{"If-Match": seen}) in {200, 204}


def test_what_is_known_already_is_not_sent_again(with_rule: Service) -> None:
    client = with_rule.client
    for path in (PATH, "/v1/streams/logins/epochs/2"):
        etag = client.get(path).headers["ETag"]
        for known in (etag, f'"other", {etag}', "*"):
            answer = client.get(path, headers={"If-None-Match": known})
            assert (answer.status_code, answer.content) == (304, b"")
            assert answer.headers["ETag"] == etag
        for unknown in ('"other"', '*, "other"', etag.strip('"')):
            assert client.get(path, headers={"If-None-Match": unknown}).status_code == 200
    seen = {"If-None-Match": client.get(PATH).headers["ETag"]}
    changes: list[Callable[[], Response]] = [
        lambda: with_rule.send("PATCH", PATH, {"owner": "fraud"}),
        lambda: put(with_rule, pattern=OTHER_PATTERN, effective_from=LATER),
        lambda: act(with_rule, "versions/2/cancel"),
        lambda: act(with_rule, "pause"),
    ]
    for change in changes:
        assert change().is_success
        answer = client.get(PATH, headers=seen)
        assert answer.status_code == 200
        seen = {"If-None-Match": answer.headers["ETag"]}


@pytest.mark.parametrize("publishing", ["put", "roll back"])
def test_scheduled_versions_whose_place_is_taken_are_named(
    with_rule: Service, publishing: str
) -> None:
    put(with_rule, pattern=OTHER_PATTERN, effective_from=LATER)
    put(with_rule, pattern=PATTERN, effective_from=LATER.replace("2030", "2031"))
    if publishing == "put":
        answer = put(with_rule, pattern=PATTERN | {"within": "7 minutes"})
    else:
        answer = act(with_rule, "rollback", version=1)
    assert answer.json()["withdrawn"] == [2, 3]
    assert published_versions(with_rule) == [4]
    log = with_rule.log(action="processor.withdraw")
    assert [(each["old_version"], each["epoch"]) for each in log] == [(3, None), (2, None)]
    assert with_rule.get(PATH)["withdrawn"] == []
    assert act(with_rule, "pause").json()["withdrawn"] == []


def test_a_scheduled_version_waits_until_it_is_cancelled_or_replaced_by_one_at_once(
    with_rule: Service,
) -> None:
    scheduled = put(with_rule, pattern=OTHER_PATTERN, effective_from=LATER).json()
    assert scheduled["state"] == "scheduled"
    assert published_versions(with_rule) == [1, 2]
    begin_ms = 1_893_456_000_000
    versions = with_rule.snapshot()["processors"][0]["versions"]
    assert [version["effective_from_ms"] for version in versions] == [None, begin_ms]
    seen = {"If-None-Match": with_rule.client.get(PATH).headers["ETag"]}
    for time_ms, state, status in ((begin_ms - 1, "scheduled", 304), (begin_ms, "published", 200)):
        with_rule.clock.time_ms = time_ms
        assert with_rule.get(PATH)["state"] == state
        assert with_rule.client.get(PATH, headers=seen).status_code == status
        listed = {each: with_rule.get("/v1/processors", state=each)["items"] for each in STATES}
        assert [each for each, items in listed.items() if items] == [state]
        (running,) = with_rule.get("/v1/streams/logins/running")["items"]
        (stream,) = with_rule.get("/v1/overview")["streams"]
        assert (running["state"], stream["rules"]) == (state, {state: 1})
    assert act(with_rule, "versions/2/cancel").json()["state"] == "published"
    assert published_versions(with_rule) == [1]
    for version in (1, 2):
        assert act(with_rule, f"versions/{version}/cancel").status_code == 409
    put(with_rule, pattern=OTHER_PATTERN, effective_from=LATER)
    assert published_versions(with_rule) == [1, 3]
    put(with_rule, pattern=OTHER_PATTERN)
    assert published_versions(with_rule) == [4]


def test_a_paused_processor_is_marked_until_it_is_resumed_also_with_a_new_version(
    with_rule: Service,
) -> None:
    for action, paused, state in (("pause", True, "paused"), ("resume", False, "published")):
        for _ in range(2):  # the second time nothing changes
            assert act(with_rule, action).json()["state"] == state
        assert with_rule.snapshot()["processors"][0]["paused"] is paused
    assert with_rule.epoch() == 4
    act(with_rule, "pause")
    put(with_rule, pattern=OTHER_PATTERN)
    (processor,) = with_rule.snapshot()["processors"]
    assert (processor["paused"], published_versions(with_rule)) == (True, [2])


def test_a_deleted_processor_is_gone_but_for_its_history_and_comes_back(with_rule: Service) -> None:
    assert with_rule.send("DELETE", PATH).status_code == 204
    assert with_rule.snapshot()["processors"] == []
    with_rule.get(PATH, expect=404)
    assert with_rule.send("DELETE", PATH).status_code == 404
    assert with_rule.get("/v1/processors")["items"] == []
    assert len(with_rule.get("/v1/processors?state=deleted")["items"]) == 1
    with_rule.get(f"{PATH}/versions/1")
    assert with_rule.publish()["state"] == "published"
    with_rule.done("DELETE", PATH)
    assert act(with_rule, "rollback", version=1).json()["state"] == "published"
    assert published_versions(with_rule) == [3]


def test_every_change_is_in_the_log_with_who_when_why_and_its_epoch(with_rule: Service) -> None:
    with_rule.clock.time_ms += 1_000
    changed = processor_document(pattern=OTHER_PATTERN)
    with_rule.send("PUT", f"{PATH}?comment=shorter", changed, **{"X-Request-ID": "ticket-7"})
    newest, *_, oldest = with_rule.log(stream="logins")
    tokens = with_rule.get("/v1/tokens", Role.ADMIN)
    assert newest | {"id": 0} == {
        "id": 0,
        "at": "2027-01-15T08:00:01.000Z",
        "actor": "admin",
        "actor_id": next(each["id"] for each in tokens if each["role"] == "admin"),
        "action": "processor.publish",
        "stream": "logins",
        "epoch": 3,
        "processor_id": ID,
        "old_version": 1,
        "new_version": 2,
        "subject": "",
        "comment": "shorter",
        "request_id": "ticket-7",
        "failed_at": None,
    }
    assert (oldest["action"], oldest["epoch"]) == ("stream.create", 1)


def test_a_refused_publish_leaves_no_trace_and_a_roll_back_a_version(with_stream: Service) -> None:
    for changes, status in (({"stream": "no-such"}, 404), ({"pattern": {"steps": []}}, 422)):
        document = processor_document(**changes)
        with_stream.post("/v1/processors", Role.ADMIN, document, expect=status)
    assert with_stream.epoch() == 1
    assert len(with_stream.log(stream="logins")) == 1
    first = with_stream.publish(severity="low")
    put(with_stream, pattern=OTHER_PATTERN)
    rolled_back = act(with_stream, "rollback", version=1).json()
    assert (rolled_back["version"], rolled_back["document"]) == (3, first["document"])
    assert rolled_back["severity"] == "low"
    versions = with_stream.get(f"{PATH}/versions")["items"]
    assert [version["restored_version"] for version in versions] == [1, None, None]
    assert act(with_stream, "rollback", version=9).status_code == 404


def test_two_versions_are_compared_by_meaning_step_by_step(with_rule: Service) -> None:
    fail, login = PATTERN["steps"]
    pay = {"name": "pay", "contiguity": "next"}
    steps = [fail | {"times": 5}, login, pay]
    put(with_rule, pattern={"steps": steps, "within": "PT10M"}, key_by=None)
    compared = with_rule.get(f"{PATH}/comparison?old=1&new=2")["differences"]
    assert [(each["pointer"], each["change"], each["old"], each["new"]) for each in compared] == [
        ("/key_by", "removed", ["user"], None),
        ("/pattern/steps/fail/times", "changed", 3, 5),
        ("/pattern/steps/pay", "added", None, pay),
    ]


def test_an_author_may_write_paused_processors_only(with_stream: Service) -> None:
    document = processor_document()
    changed = document | {"pattern": OTHER_PATTERN}

    def as_author(method: str, path: str, body: Any = None) -> Response:
        return with_stream.send(method, path, body, Role.AUTHOR)

    assert as_author("POST", "/v1/processors", document).status_code == 403
    created = as_author("POST", "/v1/processors?paused=true", document)
    assert created.json()["state"] == "paused"
    assert as_author("PUT", PATH, changed).json()["version"] == 2
    assert as_author("POST", f"{PATH}/resume").status_code == 403
    act(with_stream, "resume")
    assert as_author("PUT", PATH, document).status_code == 403
    assert published_versions(with_stream) == [2]


def put_new(service: Service, query: str = "", **headers: str) -> Response:
    sent = {"If-None-Match": "*"} | headers
    return service.client.put(f"{PATH}{query}", json=processor_document(), headers=sent)


def test_put_creates_what_is_not_there_and_changes_nothing_of_what_is(with_stream: Service) -> None:
    created = put_new(with_stream, "?comment=by+PUT")
    assert (created.status_code, created.json()["version"]) == (201, 1)
    assert created.headers["Location"] == PATH
    assert with_stream.log()[0]["comment"] == "by PUT"
    again = put_new(with_stream)
    assert (again.status_code, again.headers["ETag"]) == (412, created.headers["ETag"])
    seen = {"If-Match": created.headers["ETag"]}
    changed = processor_document(pattern=OTHER_PATTERN)
    assert with_stream.send("PUT", PATH, changed, **seen).json()["version"] == 2
    with_stream.done("DELETE", PATH)
    assert (put_new(with_stream).status_code, published_versions(with_stream)) == (201, [3])


def test_put_creates_paused_for_authors_and_says_what_it_does_not_take(
    with_stream: Service,
) -> None:
    author = with_stream.as_role(Role.AUTHOR)
    assert put_new(with_stream, **author).status_code == 403
    assert put_new(with_stream, "?paused=true", **author).json()["state"] == "paused"
    both = put_new(with_stream, **ANY_STATE)
    named = put_new(with_stream, **{"If-None-Match": '"1"'})
    paused = with_stream.send("PUT", f"{PATH}?paused=true", processor_document())
    pointers = [each.json()["errors"][0]["pointer"] for each in (both, named, paused)]
    assert pointers == ["header/If-Match", "header/If-None-Match", "query/paused"]


def test_put_registers_a_stream_once(service: Service) -> None:
    stream = {"name": "orders", "schema": "id STRING, ts TIMESTAMP", "event_time_column": "ts"}
    path, new = "/v1/streams/orders", {"If-None-Match": "*"}
    created = service.client.put(path, json=stream, headers=new)
    assert (created.status_code, created.headers["Location"]) == (201, path)
    assert service.client.put(path, json=stream, headers=new).status_code == 412

"""The life of a processor: created, replaced, scheduled, paused, rolled back, deleted."""

from collections.abc import Callable
from typing import Any

import pytest
from httpx2 import Response

from contract.service.tokens import Role
from tests.api.documents import ANY_STATE, PATTERN, processor_document
from tests.api.running import Publish, ServiceUnderTest

ID = "failed-logins"
LATER = "2030-01-01T00:00:00Z"
STATES = ("published", "scheduled", "shadow", "paused", "deleted")
OTHER_PATTERN = PATTERN | {"within": "5 minutes"}


def put(service: ServiceUnderTest, if_match: str | None = "*", **changes: Any) -> Response:
    document = processor_document(**changes)
    headers = {"If-Match": if_match} if if_match else {}
    return service.client.put(f"/v1/processors/{document['id']}", json=document, headers=headers)


def act(service: ServiceUnderTest, action: str, **body: Any) -> Response:
    path = f"/v1/processors/{ID}/{action}"
    return service.client.post(path, headers=ANY_STATE, json=body or None)


def snapshot(service: ServiceUnderTest) -> Any:
    return service.client.get("/v1/streams/logins/snapshot").json()


def published_versions(service: ServiceUnderTest) -> list[int]:
    return [
        version["version"]
        for processor in snapshot(service)["processors"]
        for version in processor["versions"]
    ]


def changes(service: ServiceUnderTest, **query: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = service.client.get("/v1/changes", params=query).json()["items"]
    return found


def test_a_created_processor_is_in_the_next_snapshot(
    with_stream: ServiceUnderTest, publish: Publish
) -> None:
    publish(severity="high", description="three failures, then a login")

    shown = snapshot(with_stream)
    processor = shown["processors"][0]
    definition = processor["versions"][0]["definition"]
    assert shown["epoch"] == 2
    assert (processor["id"], processor["paused"]) == (ID, False)
    assert definition == {"pattern": PATTERN, "key_by": ["user"], "severity": "high"}


def test_the_same_content_in_another_spelling_makes_no_version(with_rule: ServiceUnderTest) -> None:
    spelled = {"steps": PATTERN["steps"], "within_ms": 600_000, "within_type": "first_and_last"}

    assert put(with_rule, pattern=spelled).json()["version"] == 1
    assert snapshot(with_rule)["epoch"] == 2


def test_new_labels_make_neither_a_version_nor_an_epoch_but_an_entry_in_the_log(
    with_stream: ServiceUnderTest, publish: Publish
) -> None:
    before = publish()

    after = put(with_stream, tags=["beta", "alpha"], owner="fraud").json()
    patch = with_stream.client.patch(
        f"/v1/processors/{ID}", json={"tags": ["b"]}, headers=ANY_STATE
    )

    assert (after["version"], after["tags"], after["owner"]) == (1, ["alpha", "beta"], "fraud")
    assert (patch.json()["tags"], patch.json()["owner"]) == (["b"], "fraud")
    assert patch.json()["revision"] == before["revision"] + 2
    assert snapshot(with_stream)["epoch"] == 2
    shown = [change["action"] for change in changes(with_stream, processor=ID)]
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
def test_every_change_names_the_state_it_was_made_from(
    with_rule: ServiceUnderTest, change: str
) -> None:
    stale = with_rule.client.get(f"/v1/processors/{ID}").headers["ETag"]
    put(with_rule, pattern=OTHER_PATTERN, effective_from=LATER)
    seen = with_rule.client.get(f"/v1/processors/{ID}").headers["ETag"]
    epoch = with_rule.client.get("/v1/streams/logins").json()["epoch"]
    method, action, body = CHANGES[change]

    def make(**headers: str) -> int:
        path = f"/v1/processors/{ID}{action}"
        return with_rule.client.request(method, path, json=body, headers=headers).status_code

    assert make() == 428
    assert make(**{"If-Match": stale}) == 412
    for malformed in (f"*,{stale}", seen.strip('"'), ""):
        assert make(**{"If-Match": malformed}) == 422
    assert with_rule.client.get("/v1/streams/logins").json()["epoch"] == epoch
    assert make(**{"If-Match": seen}) in {200, 204}


def test_what_is_known_already_is_not_sent_again(with_rule: ServiceUnderTest) -> None:
    client = with_rule.client
    for path in (f"/v1/processors/{ID}", "/v1/streams/logins/epochs/2"):
        etag = client.get(path).headers["ETag"]
        for known in (etag, f'"other", {etag}', "*"):
            answer = client.get(path, headers={"If-None-Match": known})
            assert (answer.status_code, answer.content) == (304, b"")
            assert answer.headers["ETag"] == etag
        for unknown in ('"other"', '*, "other"', etag.strip('"')):
            assert client.get(path, headers={"If-None-Match": unknown}).status_code == 200

    seen = {"If-None-Match": client.get(f"/v1/processors/{ID}").headers["ETag"]}
    changes: list[Callable[[], Response]] = [
        lambda: client.patch(f"/v1/processors/{ID}", json={"owner": "fraud"}, headers=ANY_STATE),
        lambda: put(with_rule, pattern=OTHER_PATTERN, effective_from=LATER),
        lambda: act(with_rule, "versions/2/cancel"),
        lambda: act(with_rule, "pause"),
    ]
    for change in changes:
        assert change().is_success
        answer = client.get(f"/v1/processors/{ID}", headers=seen)
        assert answer.status_code == 200
        seen = {"If-None-Match": answer.headers["ETag"]}


@pytest.mark.parametrize("publishing", ["put", "roll back"])
def test_scheduled_versions_whose_place_is_taken_are_named(
    with_rule: ServiceUnderTest, publishing: str
) -> None:
    put(with_rule, pattern=OTHER_PATTERN, effective_from=LATER)
    put(with_rule, pattern=PATTERN, effective_from=LATER.replace("2030", "2031"))
    newest = {"within": "7 minutes"}
    if publishing == "put":
        answer = put(with_rule, pattern=PATTERN | newest).json()
    else:
        answer = act(with_rule, "rollback", version=1).json()

    assert answer["withdrawn"] == [2, 3]
    assert published_versions(with_rule) == [4]
    log = with_rule.client.get("/v1/changes?action=processor.withdraw").json()["items"]
    assert [(each["old_version"], each["epoch"]) for each in log] == [(3, None), (2, None)]
    assert with_rule.client.get(f"/v1/processors/{ID}").json()["withdrawn"] == []
    assert act(with_rule, "pause").json()["withdrawn"] == []


def test_a_scheduled_version_waits_until_it_is_cancelled_or_replaced_by_one_at_once(
    with_rule: ServiceUnderTest,
) -> None:
    scheduled = put(with_rule, pattern=OTHER_PATTERN, effective_from=LATER).json()

    assert scheduled["state"] == "scheduled"
    assert published_versions(with_rule) == [1, 2]
    versions = snapshot(with_rule)["processors"][0]["versions"]
    assert [version["effective_from_ms"] for version in versions] == [None, 1_893_456_000_000]
    path, client = f"/v1/processors/{ID}", with_rule.client
    seen = {"If-None-Match": client.get(path).headers["ETag"]}
    for time_ms, state, is_known in (
        (1_893_455_999_999, "scheduled", True),
        (1_893_456_000_000, "published", False),
    ):
        with_rule.clock.time_ms = time_ms
        assert client.get(path).json()["state"] == state
        assert (client.get(path, headers=seen).status_code == 304) == is_known
        listed = {each: with_rule.get("/v1/processors", state=each)["items"] for each in STATES}
        assert [each for each, items in listed.items() if items] == [state]
        (running,) = with_rule.get("/v1/streams/logins/running")["items"]
        (stream,) = with_rule.get("/v1/overview")["streams"]
        assert (running["state"], stream["rules"]) == (state, {state: 1})
    cancelled = act(with_rule, "versions/2/cancel").json()

    assert cancelled["state"] == "published"
    assert published_versions(with_rule) == [1]
    assert act(with_rule, "versions/2/cancel").status_code == 409
    assert act(with_rule, "versions/1/cancel").status_code == 409
    put(with_rule, pattern=OTHER_PATTERN, effective_from=LATER)

    assert published_versions(with_rule) == [1, 3]
    put(with_rule, pattern=OTHER_PATTERN)
    assert published_versions(with_rule) == [4]


def test_a_paused_processor_is_marked_until_it_is_resumed_also_with_a_new_version(
    with_rule: ServiceUnderTest,
) -> None:
    for action, paused, state in (("pause", True, "paused"), ("resume", False, "published")):
        assert act(with_rule, action).json()["state"] == state
        assert act(with_rule, action).json()["state"] == state  # again: nothing changes
        assert snapshot(with_rule)["processors"][0]["paused"] is paused
    assert snapshot(with_rule)["epoch"] == 4
    act(with_rule, "pause")
    put(with_rule, pattern=OTHER_PATTERN)

    processor = snapshot(with_rule)["processors"][0]
    assert (processor["paused"], published_versions(with_rule)) == (True, [2])


def test_a_roll_back_is_a_new_version_with_the_old_content(
    with_stream: ServiceUnderTest, publish: Publish
) -> None:
    first = publish(severity="low")
    put(with_stream, pattern=OTHER_PATTERN)

    rolled_back = act(with_stream, "rollback", version=1).json()

    assert rolled_back["version"] == 3
    assert rolled_back["document"] == first["document"]
    assert rolled_back["severity"] == "low"
    versions = with_stream.client.get(f"/v1/processors/{ID}/versions").json()["items"]
    assert [version["restored_version"] for version in versions] == [1, None, None]
    assert act(with_stream, "rollback", version=9).status_code == 404


def test_a_deleted_processor_is_gone_but_for_its_history_and_comes_back(
    with_rule: ServiceUnderTest, publish: Publish
) -> None:
    client = with_rule.client

    assert client.delete(f"/v1/processors/{ID}", headers=ANY_STATE).status_code == 204

    assert snapshot(with_rule)["processors"] == []
    assert client.get(f"/v1/processors/{ID}").status_code == 404
    assert client.delete(f"/v1/processors/{ID}", headers=ANY_STATE).status_code == 404
    assert client.get("/v1/processors").json()["items"] == []
    assert len(client.get("/v1/processors?state=deleted").json()["items"]) == 1
    assert client.get(f"/v1/processors/{ID}/versions/1").status_code == 200
    with_rule.client.delete(f"/v1/processors/{ID}", headers=ANY_STATE)
    assert publish()["state"] == "published"
    with_rule.client.delete(f"/v1/processors/{ID}", headers=ANY_STATE)
    assert act(with_rule, "rollback", version=1).json()["state"] == "published"
    assert published_versions(with_rule) == [3]


def test_every_change_is_in_the_log_with_who_when_why_and_its_epoch(
    with_rule: ServiceUnderTest,
) -> None:
    with_rule.clock.time_ms += 1_000
    document = processor_document(pattern=OTHER_PATTERN)
    with_rule.client.put(
        f"/v1/processors/{ID}?comment=shorter",
        json=document,
        headers={"If-Match": "*", "X-Request-ID": "ticket-7"},
    )

    newest, *_, oldest = changes(with_rule, stream="logins")

    admin = next(
        each for each in with_rule.client.get("/v1/tokens").json() if each["role"] == "admin"
    )
    assert newest | {"id": 0} == {
        "id": 0,
        "at": "2027-01-15T08:00:01.000Z",
        "actor": "admin",
        "actor_id": admin["id"],
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


def test_a_refused_publish_leaves_no_trace(with_stream: ServiceUnderTest) -> None:
    with_stream.post("/v1/processors", Role.ADMIN, processor_document(stream="no-such"), expect=404)
    wrong = processor_document(pattern={"steps": []})
    assert with_stream.client.post("/v1/processors", json=wrong).status_code == 422

    assert snapshot(with_stream)["epoch"] == 1
    assert len(changes(with_stream, stream="logins")) == 1


def test_two_versions_are_compared_by_meaning_step_by_step(with_rule: ServiceUnderTest) -> None:
    fail, login = PATTERN["steps"]
    changed = {
        "steps": [fail | {"times": 5}, login, {"name": "pay", "contiguity": "next"}],
        "within": "PT10M",
    }
    put(with_rule, pattern=changed, key_by=None)

    path = f"/v1/processors/{ID}/comparison?old=1&new=2"
    compared = with_rule.client.get(path).json()["differences"]

    assert [(each["pointer"], each["change"], each["old"], each["new"]) for each in compared] == [
        ("/key_by", "removed", ["user"], None),
        ("/pattern/steps/fail/times", "changed", 3, 5),
        ("/pattern/steps/pay", "added", None, {"name": "pay", "contiguity": "next"}),
    ]


def test_an_author_may_write_paused_processors_only(with_stream: ServiceUnderTest) -> None:
    client, author = with_stream.client, with_stream.as_role(Role.AUTHOR)
    document = processor_document()

    assert client.post("/v1/processors", json=document, headers=author).status_code == 403
    created = client.post("/v1/processors?paused=true", json=document, headers=author)
    assert created.json()["state"] == "paused"
    changed = document | {"pattern": OTHER_PATTERN}
    path = f"/v1/processors/{ID}"
    assert client.put(path, json=changed, headers=author | ANY_STATE).json()["version"] == 2
    assert client.post(f"{path}/resume", headers=author | ANY_STATE).status_code == 403

    act(with_stream, "resume")

    assert client.put(path, json=document, headers=author | ANY_STATE).status_code == 403
    assert published_versions(with_stream) == [2]


def put_new(service: ServiceUnderTest, query: str = "", **headers: str) -> Response:
    sent = {"If-None-Match": "*"} | headers
    return service.client.put(
        f"/v1/processors/{ID}{query}", json=processor_document(), headers=sent
    )


def test_put_creates_what_is_not_there_and_changes_nothing_of_what_is(
    with_stream: ServiceUnderTest,
) -> None:
    created = put_new(with_stream, "?comment=by+PUT")
    assert (created.status_code, created.json()["version"]) == (201, 1)
    assert created.headers["Location"] == f"/v1/processors/{ID}"
    assert changes(with_stream)[0]["comment"] == "by PUT"

    again = put_new(with_stream)
    assert (again.status_code, again.headers["ETag"]) == (412, created.headers["ETag"])
    assert put(with_stream, created.headers["ETag"], pattern=OTHER_PATTERN).json()["version"] == 2

    with_stream.client.delete(f"/v1/processors/{ID}", headers=ANY_STATE)
    assert (put_new(with_stream).status_code, published_versions(with_stream)) == (201, [3])


def test_put_creates_paused_for_authors_and_says_what_it_does_not_take(
    with_stream: ServiceUnderTest,
) -> None:
    author = with_stream.as_role(Role.AUTHOR)
    assert put_new(with_stream, **author).status_code == 403
    assert put_new(with_stream, "?paused=true", **author).json()["state"] == "paused"

    both = put_new(with_stream, **ANY_STATE)
    named = put_new(with_stream, **{"If-None-Match": '"1"'})
    paused = with_stream.client.put(
        f"/v1/processors/{ID}?paused=true", json=processor_document(), headers=ANY_STATE
    )
    pointers = [each.json()["errors"][0]["pointer"] for each in (both, named, paused)]
    assert pointers == ["header/If-Match", "header/If-None-Match", "query/paused"]


def test_put_registers_a_stream_once(service: ServiceUnderTest) -> None:
    stream = {"name": "orders", "schema": "id STRING, ts TIMESTAMP", "event_time_column": "ts"}
    path, new = "/v1/streams/orders", {"If-None-Match": "*"}
    created = service.client.put(path, json=stream, headers=new)
    assert (created.status_code, created.headers["Location"]) == (201, path)
    assert service.client.put(path, json=stream, headers=new).status_code == 412

"""A change set: every action, what is refused and where, roles, approvals, dry runs, keys."""

from typing import Any

import pytest

from api.change_sets import checking
from api.snapshots.cache import SnapshotCache
from contract.service.change_sets import MOST_CHANGES
from contract.service.tokens import Role
from tests.api.change_sets import PATH, everything, places, send
from tests.api.documents import PATTERN, STREAM, processor_document
from tests.api.running import Publish, ServiceUnderTest

OTHER = PATTERN | {"within": "5 minutes"}
WITH_LIMIT = {
    "parameters": {"limit": {"type": "DOUBLE", "value": 100, "min": 0}},
    "steps": [{"name": "pay", "where": "amount > :limit"}],
}


def document(rule: str = "failed-logins", **changes: Any) -> dict[str, Any]:
    return processor_document(id=rule, **changes)


def test_every_action_in_one_set_makes_one_epoch(
    with_stream: ServiceUnderTest, publish: Publish
) -> None:
    for rule in ("replaced", "labelled", "paused", "resumed", "rolled", "cancelled", "deleted"):
        publish(id=rule)
    for rule in ("tried", "shared", "promoted", "ended"):
        publish(id=rule)
    publish(id="tuned", pattern=WITH_LIMIT)
    client = with_stream.client
    client.post("/v1/processors/resumed/pause", headers={"If-Match": "*"})
    publish(id="rolled", pattern=OTHER)
    publish(id="cancelled", pattern=OTHER, effective_from="2030-01-01T00:00:00Z")
    for rule in ("shared", "promoted", "ended"):
        path = f"/v1/processors/{rule}/rollout"
        answer = client.post(path, json=document(rule, pattern=OTHER), headers={"If-Match": "*"})
        assert answer.status_code == 200, answer.text
    before = client.get("/v1/streams/logins").json()["epoch"]

    answer = send(
        with_stream,
        {"action": "create", "document": document("created")},
        {"action": "create", "document": document("waiting"), "paused": True},
        {"action": "create", "document": document("in-shadow"), "shadow": True},
        {"action": "publish", "document": document("published")},
        {"action": "replace", "document": document("replaced", pattern=OTHER), "based_on": "*"},
        {"action": "set_parameters", "id": "tuned", "values": {"limit": 120}, "based_on": 1},
        {"action": "label", "id": "labelled", "labels": {"owner": "fraud"}, "based_on": 1},
        {"action": "pause", "id": "paused", "based_on": 1},
        {"action": "resume", "id": "resumed", "based_on": 2},
        {"action": "rollback", "id": "rolled", "version": 1, "based_on": 2},
        {"action": "cancel", "id": "cancelled", "version": 2, "based_on": "*"},
        {"action": "delete", "id": "deleted", "based_on": 1},
        {
            "action": "start_rollout",
            "document": document("tried", pattern=OTHER),
            "share_percent": 5,
            "based_on": 1,
        },
        {"action": "share_rollout", "id": "shared", "share_percent": 7, "based_on": "*"},
        {"action": "promote_rollout", "id": "promoted", "based_on": "*"},
        {"action": "end_rollout", "id": "ended", "based_on": "*"},
        params={"comment": "all at once"},
    )

    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert (body["epoch"], body["is_dry_run"]) == (before + 1, False)
    assert client.get("/v1/streams/logins").json()["epoch"] == before + 1
    assert all(change["is_changed"] for change in body["changes"])
    state = {change["id"]: change["state"] for change in body["changes"]}
    assert state["waiting"] == state["paused"] == "paused"
    assert (state["in-shadow"], state["deleted"]) == ("shadow", "deleted")
    added = {change["id"]: change["added_version"] for change in body["changes"]}
    shown = (added["created"], added["replaced"], added["rolled"], added["paused"])
    assert shown == (1, 2, 3, None)
    assert client.get("/v1/processors/labelled").json()["owner"] == "fraud"
    tuned = client.get("/v1/processors/tuned").json()["document"]
    assert tuned["pattern"]["parameters"]["limit"]["value"] == 120
    assert client.get("/v1/processors/shared").json()["rollout"]["share_percent"] == 7
    log = client.get(f"/v1/changes?stream=logins&epoch={before + 1}&limit=500").json()["items"]
    assert sorted(line["processor_id"] for line in log) == sorted(set(state) - {"labelled"})
    assert {line["comment"] for line in log} == {"all at once"}


def test_several_changes_of_one_rule_are_made_in_order_and_jobs_see_what_they_amount_to(
    with_stream: ServiceUnderTest,
) -> None:
    scheduled = document(pattern=OTHER, effective_from="2030-01-01T00:00:00Z")
    answer = send(
        with_stream,
        {"action": "create", "document": document()},
        {"action": "pause", "id": "failed-logins"},
        {"action": "replace", "document": scheduled},
        {"action": "resume", "id": "failed-logins"},
        {"action": "create", "document": document("fleeting")},
        {"action": "delete", "id": "fleeting"},
    )
    assert answer.status_code == 200, answer.text
    snapshot = with_stream.client.get("/v1/streams/logins/snapshot").json()
    (rule,) = snapshot["processors"]
    assert (snapshot["epoch"], rule["id"], rule["paused"]) == (2, "failed-logins", False)
    assert [version["version"] for version in rule["versions"]] == [1, 2]
    again = with_stream.client.get("/v1/streams/logins/epochs/2").json()
    assert again == snapshot
    assert with_stream.client.get("/v1/streams/logins/epochs/1").json()["processors"] == []
    log = with_stream.client.get("/v1/changes?stream=logins&epoch=2").json()["items"]
    assert [line["action"] for line in reversed(log)] == [
        "processor.create",
        "processor.pause",
        "processor.publish",
        "processor.resume",
        "processor.create",
        "processor.delete",
    ]
    restored = {"action": "rollback", "id": "fleeting", "version": 1, "based_on": "*"}
    assert send(with_stream, restored).json()["epoch"] == 3


def test_what_changes_nothing_makes_no_epoch(with_rule: ServiceUnderTest) -> None:
    answer = send(
        with_rule,
        {"action": "replace", "document": document(), "based_on": "*"},
        {"action": "resume", "id": "failed-logins"},
    ).json()
    assert answer["epoch"] is None
    assert [change["is_changed"] for change in answer["changes"]] == [False, False]
    only_labels = {"action": "label", "id": "failed-logins", "labels": {"owner": "x"}}
    assert send(with_rule, only_labels | {"based_on": 1}).json()["epoch"] is None
    assert with_rule.client.get("/v1/streams/logins").json()["epoch"] == 2


GOOD = {"action": "create", "document": document("good")}
LATER = GOOD | {"document": document("later", effective_from="2030-01-01T00:00:00Z")}
OF_RULE = {"id": "failed-logins"}
PAUSE = OF_RULE | {"action": "pause", "based_on": 1}
TUNED = OF_RULE | {"action": "set_parameters", "values": {"a": 1}}
WRONG = document("wrong", pattern={"steps": [{"name": "a", "where": "acton = 1"}]})
FAILING = [{"name": "none", "events": [{"ts": 1, "user": "a", "action": "x"}], "matches": [{}]}]


@pytest.mark.parametrize(
    ("changes", "status", "where"),
    [
        ([], 422, ["/changes"]),
        ([GOOD, {"action": "explode", "id": "a"}], 422, ["/changes/1/action"]),
        ([GOOD, PAUSE | {"id": "A b"}], 422, ["/changes/1/id"]),
        ([GOOD, PAUSE | {"based_on": "1"}], 422, ["/changes/1/based_on"]),
        ([GOOD, PAUSE | {"if_match": 1}], 422, ["/changes/1/if_match"]),
        ([GOOD, PAUSE | {"version": 1}], 422, ["/changes/1/version"]),
        (
            [{"action": "pause"}, {"action": "replace"}],
            422,
            ["/changes/0/id", "/changes/1/document"],
        ),
        ([GOOD, GOOD | {"paused": True, "shadow": True}], 422, ["/changes/1/shadow"]),
        ([GOOD, OF_RULE | {"action": "pause"}], 428, ["/changes/1/based_on"]),
        ([GOOD, {"action": "publish", "document": document()}], 428, ["/changes/1/based_on"]),
        ([PAUSE, PAUSE], 422, ["/changes/1/based_on"]),
        ([GOOD, PAUSE | {"based_on": 7}], 412, ["/changes/1/based_on"]),
        ([GOOD, PAUSE | {"id": "nobody", "based_on": "*"}], 404, ["/changes/1"]),
        ([GOOD | {"action": "publish", "based_on": 2}], 404, ["/changes/0"]),
        ([GOOD, GOOD], 409, ["/changes/1"]),
        ([GOOD, {"action": "create", "document": document()}], 409, ["/changes/1"]),
        ([PAUSE, OF_RULE | {"action": "cancel", "version": 1}], 409, ["/changes/1"]),
        ([PAUSE, OF_RULE | {"action": "rollback", "version": 9}], 404, ["/changes/1"]),
        (
            [GOOD, {"action": "create", "document": WRONG}, {"action": "create", "document": {}}],
            422,
            [
                "/changes/1/document/pattern/steps/0/where",
                "/changes/2/document/pattern",
                "/changes/2/document/id",
                "/changes/2/document/stream",
            ],
        ),
        (
            [{"action": "create", "document": document(examples=FAILING)}],
            422,
            ["/changes/0/document/examples/0/matches"],
        ),
        (
            [GOOD, {"action": "create", "document": document("a", stream="payments")}],
            422,
            ["/changes/1/document/stream", "/changes/1/document/stream"],
        ),
        ([PAUSE, TUNED], 422, ["/changes/1/values"]),
        ([TUNED | {"based_on": 1}], 422, ["/changes/0/values/a"]),
        ([LATER | {"shadow": True}], 422, ["/changes/0/document/effective_from"]),
        ([GOOD, PAUSE | {"action": "end_rollout"}], 404, ["/changes/1"]),
        (
            [{"action": "publish", "document": document(), "paused": True, "based_on": "*"}],
            422,
            ["/changes/0/paused"],
        ),
    ],
)
def test_one_wrong_change_is_told_by_its_place_and_nothing_is_changed(
    with_rule: ServiceUnderTest,
    changes: list[dict[str, Any]],
    status: int,
    where: list[str],
) -> None:
    before = everything(with_rule)
    for dry_run in ("true", "false"):
        answer = send(with_rule, *changes, params={"dry_run": dry_run})
        assert (answer.status_code, places(answer)) == (status, where), answer.text
    assert everything(with_rule) == before


def test_all_that_is_outdated_is_told_at_once(
    with_stream: ServiceUnderTest, publish: Publish
) -> None:
    publish()
    publish(id="second")
    answer = send(
        with_stream, PAUSE | {"based_on": 8}, GOOD, PAUSE | {"id": "second", "based_on": 9}
    )
    assert answer.status_code == 412
    assert places(answer) == ["/changes/0/based_on", "/changes/2/based_on"]
    assert "it has revision 1" in answer.json()["errors"][0]["detail"]
    assert "Nothing was changed" in answer.json()["detail"]


def test_a_stream_that_is_not_there_and_a_rule_of_another(with_rule: ServiceUnderTest) -> None:
    elsewhere = PATH.replace("logins", "payments")
    assert with_rule.client.post(elsewhere, json={"changes": [PAUSE]}).status_code == 404
    with_rule.client.post("/v1/streams", json=STREAM | {"name": "payments"})
    for action in (PAUSE, TUNED):
        answer = with_rule.client.post(elsewhere, json={"changes": [action | {"based_on": 1}]})
        assert answer.status_code in {404, 422}
        assert places(answer)[0].startswith("/changes/0")
    assert with_rule.client.get("/v1/processors/failed-logins").json()["state"] == "published"


def test_a_set_is_bounded(with_stream: ServiceUnderTest, monkeypatch: pytest.MonkeyPatch) -> None:
    many = [PAUSE] * (MOST_CHANGES + 1)
    answer = send(with_stream, *many)
    assert (answer.status_code, places(answer)) == (422, ["/changes"])
    wrong = send(with_stream, *[{"action": "pause"}] * MOST_CHANGES)
    assert (wrong.status_code, len(places(wrong))) == (422, 100)
    monkeypatch.setattr(checking, "CHECK_SECONDS", -1.0)
    answer = send(with_stream, GOOD, GOOD)
    assert (answer.status_code, places(answer)) == (422, ["/changes/0/document"])
    assert "Send fewer at once" in answer.json()["errors"][0]["remedy"]


def test_each_change_takes_the_role_that_it_takes_alone(with_rule: ServiceUnderTest) -> None:
    paused = {"action": "create", "document": document("waiting"), "paused": True}
    label = {"action": "label", "id": "failed-logins", "labels": {"owner": "x"}, "based_on": 1}
    replaced = {"action": "replace", "document": document(pattern=OTHER), "based_on": "*"}
    edited = {"action": "replace", "document": document("waiting", pattern=OTHER)}
    author = with_rule.as_role(Role.AUTHOR)
    for change in (PAUSE, GOOD, replaced, {"action": "publish", "document": document("new")}):
        refused = send(with_rule, paused, change, headers=author)
        assert (refused.status_code, places(refused)) == (403, ["/changes/1"]), change
    assert with_rule.client.get("/v1/processors/waiting").status_code == 404
    assert send(with_rule, paused, label, edited, headers=author).status_code == 200
    assert send(with_rule, PAUSE | {"based_on": "*"}).status_code == 200


def test_a_stream_that_asks_for_approvals_refuses_a_set_as_it_does_single_changes(
    with_rule: ServiceUnderTest,
) -> None:
    approvals = {"required": 1}
    path = "/v1/streams/logins/approvals"
    with_rule.client.put(path, json=approvals, headers={"If-Match": "*"})
    for role in (Role.PUBLISHER, Role.ADMIN):
        for dry_run in ("true", "false"):
            answer = send(
                with_rule,
                PAUSE,
                GOOD,
                headers=with_rule.as_role(role),
                params={"dry_run": dry_run},
            )
            assert (answer.status_code, places(answer)) == (403, ["/changes/1"])
            assert "must be approved" in answer.json()["errors"][0]["detail"]
    edited = {"action": "replace", "document": document(pattern=OTHER)}
    detour = send(with_rule, PAUSE, edited, {"action": "resume", "id": "failed-logins"})
    assert (detour.status_code, places(detour)) == (403, ["/changes/2"])
    assert with_rule.client.get("/v1/processors/failed-logins").json()["revision"] == 1
    assert send(with_rule, PAUSE, edited).status_code == 200  # what only stops needs none


def counters(service: ServiceUnderTest) -> list[str]:
    lines = service.client.get("/metrics").text.splitlines()
    told = ("percept_changes_total", "percept_stream_epoch")
    return [line for line in lines if line.startswith(told)]


def test_a_dry_run_tells_what_would_change_and_changes_nothing(with_rule: ServiceUnderTest) -> None:
    before = everything(with_rule)
    changes = (
        {"action": "replace", "document": document(pattern=OTHER), "based_on": 1},
        {"action": "create", "document": document("new")},
        {"action": "delete", "id": "failed-logins"},
    )
    counted = counters(with_rule)
    tried = send(with_rule, *changes, params={"dry_run": "true"}).json()
    assert everything(with_rule) == before
    assert counters(with_rule) == counted != []

    assert (tried["is_dry_run"], tried["epoch"]) == (True, None)
    assert tried["changes"][0]["differences"] == [
        {"pointer": "/pattern/within", "change": "changed", "old": "10 minutes", "new": "5 minutes"}
    ]
    made = send(with_rule, *changes).json()
    assert made["epoch"] == 3
    for one, other in zip(tried["changes"], made["changes"], strict=True):
        assert one | {"differences": None} == other


def test_a_set_warns_of_rules_in_it_that_say_the_same(with_stream: ServiceUnderTest) -> None:
    answer = send(with_stream, GOOD, {"action": "create", "document": document("same")}).json()
    assert [len(change["warnings"]) for change in answer["changes"]] == [0, 1]
    assert "'good' has the same pattern" in answer["changes"][1]["warnings"][0]["detail"]


def test_a_set_under_a_key_is_made_once(with_stream: ServiceUnderTest) -> None:
    key = {"Idempotency-Key": "a-set"}
    first = send(with_stream, GOOD, headers=key)
    again = send(with_stream, GOOD, headers=key)
    assert (first.status_code, again.status_code) == (200, 200)
    assert first.json() == again.json()
    assert again.headers["Idempotent-Replayed"] == "true"
    tried = {"dry_run": "true"}
    assert send(with_stream, GOOD, headers=key, params=tried).status_code == 422  # another request
    refused = send(with_stream, GOOD, headers={"Idempotency-Key": "b"})
    assert (refused.status_code, places(refused)) == (409, ["/changes/0"])
    renamed = {"action": "create", "document": document("other")}
    assert send(with_stream, renamed, headers={"Idempotency-Key": "b"}).status_code == 200


def test_the_snapshot_in_memory_follows_a_set(with_rule: ServiceUnderTest) -> None:
    client, path = with_rule.client, "/v1/streams/logins/snapshot"
    client.get(path)  # kept in memory from here on
    send(
        with_rule,
        PAUSE,
        {"action": "resume", "id": "failed-logins"},
        {"action": "replace", "document": document(pattern=OTHER)},
        GOOD,
        {"action": "delete", "id": "good"},
    )
    followed = client.get(path)
    with_rule.app.state.snapshot_cache = SnapshotCache()
    assert client.get(path).content == followed.content

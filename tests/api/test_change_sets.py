"""A change set: every action, what is refused and where, roles, approvals, dry runs, keys."""

from typing import Any

import pytest

from api.change_sets import checking
from contract.service.change_sets import MOST_CHANGES
from contract.service.tokens import Role
from tests.api.change_sets import PATH, everything, places, send
from tests.api.documents import PATTERN, STREAM, processor_document
from tests.api.people import ask_for
from tests.api.running import Service

OTHER = PATTERN | {"within": "5 minutes"}
WITH_LIMIT = {
    "parameters": {"limit": {"type": "DOUBLE", "value": 100, "min": 0}},
    "steps": [{"name": "pay", "where": "amount > :limit"}],
}


def document(rule: str = "failed-logins", **changes: Any) -> dict[str, Any]:
    return processor_document(id=rule, **changes)


def test_every_action_in_one_set_makes_one_epoch(with_stream: Service) -> None:
    for rule in ("replaced", "labelled", "paused", "resumed", "rolled", "cancelled", "deleted"):
        with_stream.publish(id=rule)
    for rule in ("tried", "shared", "promoted", "ended"):
        with_stream.publish(id=rule)
    with_stream.publish(id="tuned", pattern=WITH_LIMIT)
    with_stream.done("POST", "/v1/processors/resumed/pause")
    with_stream.publish(id="rolled", pattern=OTHER)
    with_stream.publish(id="cancelled", pattern=OTHER, effective_from="2030-01-01T00:00:00Z")
    for rule in ("shared", "promoted", "ended"):
        with_stream.done("POST", f"/v1/processors/{rule}/rollout", document(rule, pattern=OTHER))
    before = with_stream.epoch()
    tried = {"document": document("tried", pattern=OTHER), "share_percent": 5, "based_on": 1}
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
        {"action": "start_rollout"} | tried,
        {"action": "share_rollout", "id": "shared", "share_percent": 7, "based_on": "*"},
        {"action": "promote_rollout", "id": "promoted", "based_on": "*"},
        {"action": "end_rollout", "id": "ended", "based_on": "*"},
        params={"comment": "all at once"},
    )
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert (body["epoch"], body["is_dry_run"]) == (before + 1, False)
    assert with_stream.epoch() == before + 1
    assert all(change["is_changed"] for change in body["changes"])
    state = {change["id"]: change["state"] for change in body["changes"]}
    assert state["waiting"] == state["paused"] == "paused"
    assert (state["in-shadow"], state["deleted"]) == ("shadow", "deleted")
    added = {change["id"]: change["added_version"] for change in body["changes"]}
    shown = (added["created"], added["replaced"], added["rolled"], added["paused"])
    assert shown == (1, 2, 3, None)
    labelled, tuned, shared = (
        with_stream.get(f"/v1/processors/{rule}") for rule in ("labelled", "tuned", "shared")
    )
    assert labelled["owner"] == "fraud"
    assert tuned["document"]["pattern"]["parameters"]["limit"]["value"] == 120
    assert shared["rollout"]["share_percent"] == 7
    log = with_stream.log(stream="logins", epoch=before + 1, limit=500)
    assert sorted(line["processor_id"] for line in log) == sorted(set(state) - {"labelled"})
    assert {line["comment"] for line in log} == {"all at once"}


def test_several_changes_of_one_rule_are_made_in_order_and_jobs_see_what_they_amount_to(
    with_stream: Service,
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
    snapshot = with_stream.snapshot()
    (rule,) = snapshot["processors"]
    assert (snapshot["epoch"], rule["id"], rule["paused"]) == (2, "failed-logins", False)
    assert [version["version"] for version in rule["versions"]] == [1, 2]
    assert with_stream.get("/v1/streams/logins/epochs/2") == snapshot
    assert with_stream.get("/v1/streams/logins/epochs/1")["processors"] == []
    actions = [line["action"] for line in reversed(with_stream.log(stream="logins", epoch=2))]
    made = ("create", "pause", "publish", "resume", "create", "delete")
    assert actions == [f"processor.{action}" for action in made]
    restored = {"action": "rollback", "id": "fleeting", "version": 1, "based_on": "*"}
    assert send(with_stream, restored).json()["epoch"] == 3


def test_what_changes_nothing_makes_no_epoch(with_rule: Service) -> None:
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
NEW = {"action": "create"}
MISSING_PARTS = [f"/changes/2/document/{key}" for key in ("pattern", "id", "stream")]
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
        ([{"action": "pause"}, NEW], 422, ["/changes/0/id", "/changes/1/document"]),
        ([GOOD, GOOD | {"paused": True, "shadow": True}], 422, ["/changes/1/shadow"]),
        ([GOOD, OF_RULE | {"action": "pause"}], 428, ["/changes/1/based_on"]),
        ([GOOD, {"action": "publish", "document": document()}], 428, ["/changes/1/based_on"]),
        ([PAUSE, PAUSE], 422, ["/changes/1/based_on"]),
        ([GOOD, PAUSE | {"based_on": 7}], 412, ["/changes/1/based_on"]),
        ([GOOD, PAUSE | {"id": "nobody", "based_on": "*"}], 404, ["/changes/1"]),
        ([GOOD | {"action": "publish", "based_on": 2}], 404, ["/changes/0"]),
        ([GOOD, GOOD], 409, ["/changes/1"]),
        ([GOOD, NEW | {"document": document()}], 409, ["/changes/1"]),
        ([PAUSE, OF_RULE | {"action": "cancel", "version": 1}], 409, ["/changes/1"]),
        ([PAUSE, OF_RULE | {"action": "rollback", "version": 9}], 404, ["/changes/1"]),
        (
            [GOOD, NEW | {"document": WRONG}, NEW | {"document": {}}],
            422,
            ["/changes/1/document/pattern/steps/0/where", *MISSING_PARTS],
        ),
        (
            [NEW | {"document": document(examples=FAILING)}],
            422,
            ["/changes/0/document/examples/0/matches"],
        ),
        (
            [GOOD, NEW | {"document": document("a", stream="payments")}],
            422,
            ["/changes/1/document/stream"] * 2,
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
    with_rule: Service, changes: list[dict[str, Any]], status: int, where: list[str]
) -> None:
    before = everything(with_rule)
    for dry_run in ("true", "false"):
        answer = send(with_rule, *changes, params={"dry_run": dry_run})
        assert (answer.status_code, places(answer)) == (status, where), answer.text
    assert everything(with_rule) == before


def test_a_stream_or_rule_that_is_not_there_and_all_that_is_outdated_is_told(
    with_rule: Service,
) -> None:
    with_rule.publish(id="second")
    other = PAUSE | {"id": "second", "based_on": 9}
    answer = send(with_rule, PAUSE | {"based_on": 8}, GOOD, other)
    assert answer.status_code == 412
    assert places(answer) == ["/changes/0/based_on", "/changes/2/based_on"]
    assert "it has revision 1" in answer.json()["errors"][0]["detail"]
    assert "Nothing was changed" in answer.json()["detail"]
    elsewhere = PATH.replace("logins", "payments")
    assert with_rule.client.post(elsewhere, json={"changes": [PAUSE]}).status_code == 404
    with_rule.client.post("/v1/streams", json=STREAM | {"name": "payments"})
    for action in (PAUSE, TUNED):
        answer = with_rule.client.post(elsewhere, json={"changes": [action | {"based_on": 1}]})
        assert answer.status_code in {404, 422}
        assert places(answer)[0].startswith("/changes/0")
    assert with_rule.client.get("/v1/processors/failed-logins").json()["state"] == "published"


def test_a_set_is_bounded(with_stream: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    many = [PAUSE] * (MOST_CHANGES + 1)
    answer = send(with_stream, *many)
    assert (answer.status_code, places(answer)) == (422, ["/changes"])
    wrong = send(with_stream, *[{"action": "pause"}] * MOST_CHANGES)
    assert (wrong.status_code, len(places(wrong))) == (422, 100)
    monkeypatch.setattr(checking, "CHECK_SECONDS", -1.0)
    answer = send(with_stream, GOOD, GOOD)
    assert (answer.status_code, places(answer)) == (422, ["/changes/0/document"])
    assert "Send fewer at once" in answer.json()["errors"][0]["remedy"]


def test_each_change_takes_the_role_that_it_takes_alone(with_rule: Service) -> None:
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
    with_rule: Service,
) -> None:
    ask_for(with_rule, 1)
    for role in (Role.PUBLISHER, Role.ADMIN):
        for dry_run in ("true", "false"):
            options = {"headers": with_rule.as_role(role), "params": {"dry_run": dry_run}}
            answer = send(with_rule, PAUSE, GOOD, **options)
            assert (answer.status_code, places(answer)) == (403, ["/changes/1"])
            assert "must be approved" in answer.json()["errors"][0]["detail"]
    edited = {"action": "replace", "document": document(pattern=OTHER)}
    detour = send(with_rule, PAUSE, edited, {"action": "resume", "id": "failed-logins"})
    assert (detour.status_code, places(detour)) == (403, ["/changes/2"])
    assert with_rule.get("/v1/processors/failed-logins")["revision"] == 1
    assert send(with_rule, PAUSE, edited).status_code == 200  # what only stops needs none


def counters(service: Service) -> list[str]:
    lines = service.client.get("/metrics").text.splitlines()
    told = ("percept_changes_total", "percept_stream_epoch")
    return [line for line in lines if line.startswith(told)]


def test_a_dry_run_tells_what_would_change_and_changes_nothing(with_rule: Service) -> None:
    before, counted = everything(with_rule), counters(with_rule)
    changes = (
        {"action": "replace", "document": document(pattern=OTHER), "based_on": 1},
        {"action": "create", "document": document("new")},
        {"action": "delete", "id": "failed-logins"},
    )
    tried = send(with_rule, *changes, params={"dry_run": "true"}).json()
    assert everything(with_rule) == before
    assert counters(with_rule) == counted != []
    assert (tried["is_dry_run"], tried["epoch"]) == (True, None)
    change = {"change": "changed", "old": "10 minutes", "new": "5 minutes"}
    assert tried["changes"][0]["differences"] == [{"pointer": "/pattern/within"} | change]
    made = send(with_rule, *changes).json()
    assert made["epoch"] == 3
    for one, other in zip(tried["changes"], made["changes"], strict=True):
        assert one | {"differences": None} == other


def test_a_set_under_a_key_is_made_once(with_stream: Service) -> None:
    key, other = {"Idempotency-Key": "a-set"}, {"Idempotency-Key": "b"}
    same = NEW | {"document": document("same")}
    first, again = (send(with_stream, GOOD, same, headers=key) for _ in range(2))
    assert (first.status_code, again.status_code) == (200, 200)
    assert first.json() == again.json()
    warnings = [change["warnings"] for change in first.json()["changes"]]
    assert [len(each) for each in warnings] == [0, 1]
    assert "'good' has the same pattern" in warnings[1][0]["detail"]
    assert again.headers["Idempotent-Replayed"] == "true"
    tried = {"dry_run": "true"}
    another = send(with_stream, GOOD, same, headers=key, params=tried)
    assert another.status_code == 422  # another request
    refused = send(with_stream, GOOD, headers=other)
    assert (refused.status_code, places(refused)) == (409, ["/changes/0"])
    renamed = NEW | {"document": document("other")}
    assert send(with_stream, renamed, headers=other).status_code == 200

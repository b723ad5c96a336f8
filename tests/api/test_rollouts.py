"""A version is tried beside the published one: begun, compared, shared, promoted, ended."""

import re
from typing import Any

import pytest

from api.rollouts import comparison
from contract.service.tokens import Role
from contract.snapshot import read_snapshot, snapshot_json
from tests.api.documents import ANY_STATE, PATTERN, processor_document
from tests.api.jobs import ReportingJob, running
from tests.api.running import START_MS, Publish, ServiceUnderTest
from tests.api.triage import post

PATH = "/v1/processors/failed-logins"
ROLLOUT = f"{PATH}/rollout"
WIDER = PATTERN | {"within": "1 hour"}
WIDEST = PATTERN | {"within": "2 hours"}


def start(service: ServiceUnderTest, query: str = "", **changes: Any) -> Any:
    document = processor_document(**{"pattern": WIDER} | changes)
    answer = service.client.post(f"{ROLLOUT}{query}", json=document, headers=ANY_STATE)
    assert answer.status_code == 200, answer.text
    return answer.json()


def share(service: ServiceUnderTest, percent: float) -> Any:
    return service.client.patch(ROLLOUT, json={"share_percent": percent}, headers=ANY_STATE)


def promote(service: ServiceUnderTest) -> Any:
    return service.client.post(f"{ROLLOUT}/promote", headers=ANY_STATE)


def snapshot(service: ServiceUnderTest) -> Any:
    answer = service.client.get("/v1/streams/logins/snapshot")
    assert snapshot_json(read_snapshot(answer.content)) == answer.content
    return answer.json()


def runs(service: ServiceUnderTest) -> tuple[list[int], list[tuple[int, int]]]:
    """Return the published versions, and those that are tried with their shares."""
    shown = snapshot(service)
    published = [version["version"] for each in shown["processors"] for version in each["versions"]]
    tried = [(each["version"]["version"], each["share"]) for each in shown.get("rollouts", [])]
    return published, tried


class TestChanges:
    def test_a_rollout_runs_beside_what_is_published(self, with_rule: ServiceUnderTest) -> None:
        before = with_rule.client.get("/v1/streams/logins/snapshot").content
        view = start(with_rule)
        assert runs(with_rule) == ([1], [(2, 0)])
        shown = (view["version"], view["state"], view["document"]["pattern"])
        assert shown == (1, "published", PATTERN)
        assert view["rollout"] == {"version": 2, "share_percent": 0}
        assert with_rule.client.get("/v1/streams/logins/epochs/2").content == before

    def test_a_share_is_raised_and_the_version_promoted(self, with_rule: ServiceUnderTest) -> None:
        start(with_rule, "?share_percent=5")
        assert runs(with_rule) == ([1], [(2, 500)])
        assert share(with_rule, 0.01).json()["rollout"]["share_percent"] == 0.01
        epoch = snapshot(with_rule)["epoch"]
        assert share(with_rule, 0.01).status_code == 200
        assert snapshot(with_rule)["epoch"] == epoch
        view = promote(with_rule).json()
        assert (view["version"], view["rollout"]) == (2, None)
        assert runs(with_rule) == ([2], [])
        actions = [each["action"] for each in with_rule.client.get("/v1/changes").json()["items"]]
        assert actions[:3] == ["rollout.promote", "rollout.share", "rollout.start"]

    def test_another_takes_its_place_and_is_taken_back(self, with_rule: ServiceUnderTest) -> None:
        start(with_rule)
        start(with_rule, pattern=WIDEST)
        assert runs(with_rule) == ([1], [(3, 0)])
        assert with_rule.client.delete(ROLLOUT, headers=ANY_STATE).status_code == 200
        assert runs(with_rule) == ([1], [])
        assert with_rule.client.get(ROLLOUT).status_code == 404
        assert with_rule.client.get(PATH).json()["version"] == 1

    def test_a_rule_can_be_new(self, with_stream: ServiceUnderTest) -> None:
        path = "/v1/processors?shadow=true"
        answer = with_stream.post(path, Role.ADMIN, processor_document(), expect=201)
        assert answer["state"] == "shadow"
        assert runs(with_stream) == ([], [(1, 0)])
        ended = with_stream.client.delete(ROLLOUT, headers=ANY_STATE)
        assert ended.status_code == 409
        assert promote(with_stream).json()["state"] == "published"
        assert runs(with_stream) == ([1], [])

    def test_what_is_tried_is_published_as_it_is_when_it_is_put(
        self, with_rule: ServiceUnderTest
    ) -> None:
        start(with_rule)
        document = processor_document(pattern=WIDER)
        view = with_rule.client.put(PATH, json=document, headers=ANY_STATE).json()
        assert (view["version"], view["rollout"]) == (2, None)
        assert runs(with_rule) == ([2], [])

    def test_another_version_is_published_beside_a_shadow_but_not_beside_a_canary(
        self, with_rule: ServiceUnderTest
    ) -> None:
        start(with_rule)
        document = processor_document(pattern=WIDEST)
        assert with_rule.client.put(PATH, json=document, headers=ANY_STATE).status_code == 200
        assert runs(with_rule) == ([3], [(2, 0)])
        share(with_rule, 10)
        document = processor_document(severity="low")
        refused = with_rule.client.put(PATH, json=document, headers=ANY_STATE)
        assert refused.status_code == 409
        assert "canary for 10%" in refused.json()["detail"]

    def test_pause_and_delete_stop_it_with_its_rule(self, with_rule: ServiceUnderTest) -> None:
        start(with_rule, "?share_percent=20")
        with_rule.client.post(f"{PATH}/pause", headers=ANY_STATE)
        assert runs(with_rule) == ([1], [])
        assert share(with_rule, 5).status_code == 409
        with_rule.client.post(f"{PATH}/resume", headers=ANY_STATE)
        assert runs(with_rule) == ([1], [(2, 2_000)])
        with_rule.client.delete(PATH, headers=ANY_STATE)
        assert runs(with_rule) == ([], [])
        restored = with_rule.client.post(f"{PATH}/rollback", json={"version": 2}, headers=ANY_STATE)
        assert (restored.json()["version"], restored.json()["rollout"]) == (3, None)


class TestRefusals:
    def test_a_history_tells_which_versions_were_only_tried(
        self, with_stream: ServiceUnderTest, publish: Publish
    ) -> None:
        def only_tried() -> list[int]:
            items = with_stream.client.get(f"{PATH}/versions").json()["items"]
            return [each["version"] for each in items if each["was_only_tried"]]

        publish()
        start(with_stream)
        share(with_stream, 5)
        assert only_tried() == [2]
        with_stream.client.delete(ROLLOUT, headers=ANY_STATE)
        assert only_tried() == [2]
        start(with_stream, pattern=WIDEST)
        assert only_tried() == [3, 2]
        promote(with_stream)
        publish()
        assert only_tried() == [2]

    @pytest.mark.parametrize(
        ("published", "tried"), [(["user"], ["action"]), (None, None), (["user"], None)]
    )
    def test_keys_that_versions_do_not_have_in_common_are_not_divided(
        self, with_stream: ServiceUnderTest, publish: Publish, published: Any, tried: Any
    ) -> None:
        publish(key_by=published)
        start(with_stream, key_by=tried)
        answer = share(with_stream, 5)
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["pointer"] == "/share_percent"

    @pytest.mark.parametrize("percent", [-1, 100, 0.001, "x", None])
    def test_a_share_is_a_part_of_a_hundred(
        self, with_rule: ServiceUnderTest, percent: Any
    ) -> None:
        start(with_rule)
        assert share(with_rule, percent).status_code == 422

    def test_what_is_published_and_a_schedule_are_not_tried(
        self, with_rule: ServiceUnderTest
    ) -> None:
        same = with_rule.client.post(ROLLOUT, json=processor_document(), headers=ANY_STATE)
        assert same.status_code == 409
        document = processor_document(pattern=WIDER, effective_from="2030-01-01T00:00:00Z")
        answer = with_rule.client.post(ROLLOUT, json=document, headers=ANY_STATE)
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["pointer"] == "/effective_from"

    def test_it_takes_the_state_it_was_made_from(self, with_rule: ServiceUnderTest) -> None:
        document = processor_document(pattern=WIDER)
        client = with_rule.client
        assert client.post(ROLLOUT, json=document).status_code == 428
        stale = {"If-Match": '"99"'}
        assert client.post(ROLLOUT, json=document, headers=stale).status_code == 412
        assert client.post(f"{ROLLOUT}/promote", headers=ANY_STATE).status_code == 404


def find(version: int, identity: str, **fields: Any) -> dict[str, Any]:
    return {
        "match_id": f"match-{version:02}-{identity}",
        "kind": "match" if version == 1 else "shadow",
        "identity": identity,
        "processor_id": "failed-logins",
        "version": version,
        "epoch": 3,
        "key": ["eve"],
        "start_ms": START_MS,
        "end_ms": START_MS + 10,
    } | fields


def report(service: ServiceUnderTest, **fields: Any) -> None:
    """Have the job `main` report that it runs version 2 in shadow."""
    counters = {"matches": 1, "shadow": 2}
    version = running(version=2, state="shadow", active_from_ms=START_MS, counters=counters)
    ReportingJob(service).beat(version | fields)


class TestComparison:
    def test_what_both_find_and_what_one_of_them_finds(self, with_rule: ServiceUnderTest) -> None:
        start(with_rule)
        report(with_rule)
        post(with_rule, find(1, "a" * 16), find(2, "a" * 16), find(1, "b" * 16))
        post(with_rule, find(2, "c" * 16), find(2, "d" * 16, key=["<b>mallory</b>"]))
        post(with_rule, find(2, "d" * 16), find(1, "b" * 16))  # once more, after a replay
        post(with_rule, find(1, "e" * 16, start_ms=START_MS - 1))  # begun before both ran
        # Of an older job, which tells no identity.
        post(with_rule, find(1, "", match_id="match-without-identity"))
        (job,) = with_rule.client.get(ROLLOUT).json()["jobs"]
        assert (job["both"], job["gained"], job["lost"]) == (1, 2, 1)
        assert (job["finds"], job["counted"], job["is_complete"]) == (3, 1, True)
        assert {each["key_text"] for each in job["newest_gained"]} == {"eve", "<b>mallory</b>"}
        assert [each["match_id"] for each in job["newest_lost"]] == ["match-01-" + "b" * 16]
        shown = re.findall(
            r'^percept_rollout_matches\{found_by="(\w+)",processor="failed-logins",'
            r'stream="logins"\} (\d)',
            with_rule.client.get("/metrics").text,
            re.MULTILINE,
        )
        # With the one that began before both ran.
        assert sorted(shown) == [("both", "1"), ("published", "2"), ("tried", "2")]
        promote(with_rule)
        assert "percept_rollout_matches{" not in with_rule.client.get("/metrics").text

    def test_what_did_not_go_out_was_found(self, with_rule: ServiceUnderTest) -> None:
        start(with_rule)
        report(with_rule)
        held_back = [
            find(1, identity * 16, kind=kind)
            for identity, kind in (("a", "grouped"), ("b", "suppressed"))
        ]
        post(with_rule, *held_back, find(2, "a" * 16), find(2, "b" * 16))
        (job,) = with_rule.client.get(ROLLOUT).json()["jobs"]
        assert (job["both"], job["gained"], job["lost"]) == (2, 0, 0)

    def test_shadows_are_not_among_the_matches(self, with_rule: ServiceUnderTest) -> None:
        start(with_rule)
        post(with_rule, find(1, "a" * 16), find(2, "a" * 16))
        path = "/v1/streams/logins/matches"
        shown = with_rule.client.get(path).json()["items"]
        assert [each["version"] for each in shown] == [1]
        shadows = with_rule.client.get(f"{path}?kind=shadow").json()["items"]
        assert [each["version"] for each in shadows] == [2]

    def test_so_many_are_compared_and_no_more(
        self, with_stream: ServiceUnderTest, publish: Publish, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(comparison, "MOST_COMPARED", 3)
        publish()
        start(with_stream)
        report(with_stream)
        post(with_stream, *(find(1, f"{number:016}") for number in range(5)))
        post(with_stream, find(2, f"{0:016}"))
        (job,) = with_stream.client.get(ROLLOUT).json()["jobs"]
        assert (job["both"], job["lost"], job["is_complete"]) == (1, 2, False)

    def test_another_rollout_begins_with_nothing(self, with_rule: ServiceUnderTest) -> None:
        start(with_rule)
        report(with_rule)
        post(with_rule, find(2, "a" * 16))
        start(with_rule, pattern=WIDEST)
        assert with_rule.client.get(ROLLOUT).json()["jobs"] == []

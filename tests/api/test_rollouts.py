"""A version is tried beside the published one: begun, compared, shared, promoted, ended."""

import json
import re
from typing import Any

import pytest

from api.rollouts import comparison
from contract.service.tokens import Role
from contract.snapshot import read_snapshot, snapshot_json
from tests.api.documents import PATTERN, processor_document
from tests.api.jobs import ReportingJob, running
from tests.api.running import START_MS, Service
from tests.api.triage import found, post

PATH = "/v1/processors/failed-logins"
ROLLOUT = f"{PATH}/rollout"
WIDER = PATTERN | {"within": "1 hour"}
WIDEST = PATTERN | {"within": "2 hours"}


def start(service: Service, query: str = "", **changes: Any) -> Any:
    document = processor_document(**{"pattern": WIDER} | changes)
    return service.done("POST", f"{ROLLOUT}{query}", document)


def share(service: Service, percent: float) -> Any:
    return service.send("PATCH", ROLLOUT, {"share_percent": percent})


def promote(service: Service) -> Any:
    return service.done("POST", f"{ROLLOUT}/promote")


def put(service: Service, **changes: Any) -> Any:
    return service.send("PUT", PATH, processor_document(**changes))


def runs(service: Service) -> tuple[list[int], list[tuple[int, int]]]:
    """Return the published versions, and those that are tried with their shares."""
    content = service.client.get("/v1/streams/logins/snapshot").content
    assert snapshot_json(read_snapshot(content)) == content
    shown = json.loads(content)
    published = [version["version"] for each in shown["processors"] for version in each["versions"]]
    tried = [(each["version"]["version"], each["share"]) for each in shown.get("rollouts", [])]
    return published, tried


class TestChanges:
    def test_a_rollout_runs_beside_what_is_published_until_it_is_taken_back(
        self, with_rule: Service
    ) -> None:
        before = with_rule.client.get("/v1/streams/logins/snapshot").content
        view = start(with_rule)
        assert runs(with_rule) == ([1], [(2, 0)])
        shown = (view["version"], view["state"], view["document"]["pattern"])
        assert shown == (1, "published", PATTERN)
        assert view["rollout"] == {"version": 2, "share_percent": 0}
        assert with_rule.client.get("/v1/streams/logins/epochs/2").content == before
        start(with_rule, pattern=WIDEST)
        assert runs(with_rule) == ([1], [(3, 0)])
        with_rule.done("DELETE", ROLLOUT)
        assert runs(with_rule) == ([1], [])
        with_rule.get(ROLLOUT, expect=404)
        assert with_rule.get(PATH)["version"] == 1

    def test_a_share_is_raised_and_the_version_promoted(self, with_rule: Service) -> None:
        start(with_rule, "?share_percent=5")
        assert runs(with_rule) == ([1], [(2, 500)])
        assert share(with_rule, 0.01).json()["rollout"]["share_percent"] == 0.01
        epoch = with_rule.epoch()
        assert share(with_rule, 0.01).status_code == 200
        assert with_rule.epoch() == epoch
        view = promote(with_rule)
        assert (view["version"], view["rollout"]) == (2, None)
        assert runs(with_rule) == ([2], [])
        actions = [each["action"] for each in with_rule.log()]
        assert actions[:3] == ["rollout.promote", "rollout.share", "rollout.start"]

    def test_a_rule_can_be_new(self, with_stream: Service) -> None:
        path = "/v1/processors?shadow=true"
        answer = with_stream.post(path, Role.ADMIN, processor_document(), expect=201)
        assert answer["state"] == "shadow"
        assert runs(with_stream) == ([], [(1, 0)])
        assert with_stream.send("DELETE", ROLLOUT).status_code == 409
        assert promote(with_stream)["state"] == "published"
        assert runs(with_stream) == ([1], [])

    def test_what_is_tried_is_published_as_it_is_when_it_is_put(self, with_rule: Service) -> None:
        start(with_rule)
        view = put(with_rule, pattern=WIDER).json()
        assert (view["version"], view["rollout"]) == (2, None)
        assert runs(with_rule) == ([2], [])

    def test_another_version_is_published_beside_a_shadow_but_not_beside_a_canary(
        self, with_rule: Service
    ) -> None:
        start(with_rule)
        assert put(with_rule, pattern=WIDEST).status_code == 200
        assert runs(with_rule) == ([3], [(2, 0)])
        share(with_rule, 10)
        refused = put(with_rule, severity="low")
        assert refused.status_code == 409
        assert "canary for 10%" in refused.json()["detail"]

    def test_pause_and_delete_stop_it_with_its_rule(self, with_rule: Service) -> None:
        start(with_rule, "?share_percent=20")
        with_rule.done("POST", f"{PATH}/pause")
        assert runs(with_rule) == ([1], [])
        assert share(with_rule, 5).status_code == 409
        with_rule.done("POST", f"{PATH}/resume")
        assert runs(with_rule) == ([1], [(2, 2_000)])
        with_rule.done("DELETE", PATH)
        assert runs(with_rule) == ([], [])
        restored = with_rule.done("POST", f"{PATH}/rollback", {"version": 2})
        assert (restored["version"], restored["rollout"]) == (3, None)


class TestRefusals:
    def test_a_history_tells_which_versions_were_only_tried(self, with_rule: Service) -> None:
        def only_tried() -> list[int]:
            items = with_rule.get(f"{PATH}/versions")["items"]
            return [each["version"] for each in items if each["was_only_tried"]]

        start(with_rule)
        share(with_rule, 5)
        assert only_tried() == [2]
        with_rule.done("DELETE", ROLLOUT)
        assert only_tried() == [2]
        start(with_rule, pattern=WIDEST)
        assert only_tried() == [3, 2]
        promote(with_rule)
        with_rule.publish()
        assert only_tried() == [2]

    @pytest.mark.parametrize(
        ("published", "tried"), [(["user"], ["action"]), (None, None), (["user"], None)]
    )
    def test_keys_that_versions_do_not_have_in_common_are_not_divided(
        self, with_stream: Service, published: Any, tried: Any
    ) -> None:
        with_stream.publish(key_by=published)
        start(with_stream, key_by=tried)
        answer = share(with_stream, 5)
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["pointer"] == "/share_percent"

    def test_a_share_is_a_part_of_a_hundred(self, with_rule: Service) -> None:
        start(with_rule)
        wrong: tuple[Any, ...] = (-1, 100, 0.001, "x", None)
        for percent in wrong:
            assert share(with_rule, percent).status_code == 422, percent

    def test_what_is_published_a_schedule_and_an_old_state_are_refused(
        self, with_rule: Service
    ) -> None:
        assert with_rule.send("POST", ROLLOUT, processor_document()).status_code == 409
        document = processor_document(pattern=WIDER)
        later = document | {"effective_from": "2030-01-01T00:00:00Z"}
        answer = with_rule.send("POST", ROLLOUT, later)
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["pointer"] == "/effective_from"
        assert with_rule.client.post(ROLLOUT, json=document).status_code == 428
        stale = {"If-Match": '"99"'}
        assert with_rule.send("POST", ROLLOUT, document, **stale).status_code == 412
        assert with_rule.send("POST", f"{ROLLOUT}/promote").status_code == 404


def find(version: int, identity: str, **fields: Any) -> dict[str, Any]:
    name, kind = f"match-{version:02}-{identity}", "match" if version == 1 else "shadow"
    told = {"match_id": name, "kind": kind, "identity": identity, "version": version}
    return found(0, **told | {"end_ms": START_MS + 10} | fields)


def report(service: Service, **fields: Any) -> None:
    """Have the job `main` report that it runs version 2 in shadow."""
    counters = {"matches": 1, "shadow": 2}
    version = running(version=2, state="shadow", active_from_ms=START_MS, counters=counters)
    ReportingJob(service).beat(version | fields)


class TestComparison:
    def test_what_both_find_and_what_one_of_them_finds(self, with_rule: Service) -> None:
        start(with_rule)
        report(with_rule)
        post(with_rule, find(1, "a" * 16), find(2, "a" * 16), find(1, "b" * 16))
        post(with_rule, find(2, "c" * 16), find(2, "d" * 16, key=["<b>mallory</b>"]))
        post(with_rule, find(2, "d" * 16), find(1, "b" * 16))  # once more, after a replay
        post(with_rule, find(1, "e" * 16, start_ms=START_MS - 1))  # begun before both ran
        # Of an older job, which tells no identity.
        post(with_rule, find(1, "", match_id="match-without-identity"))
        (job,) = with_rule.get(ROLLOUT)["jobs"]
        assert (job["both"], job["gained"], job["lost"]) == (1, 2, 1)
        assert (job["finds"], job["counted"], job["is_complete"]) == (3, 1, True)
        assert {each["key_text"] for each in job["newest_gained"]} == {"eve", "<b>mallory</b>"}
        assert [each["match_id"] for each in job["newest_lost"]] == ["match-01-" + "b" * 16]

        def told() -> list[tuple[str, str]]:
            text = with_rule.client.get("/metrics").text
            of_rule = 'processor="failed-logins",stream="logins"'
            pattern = rf'^percept_rollout_matches\{{found_by="(\w+)",{of_rule}\}} (\d)'
            return sorted(re.findall(pattern, text, re.MULTILINE))

        # With the one that began before both ran.
        assert told() == [("both", "1"), ("published", "2"), ("tried", "2")]
        promote(with_rule)
        assert told() == []

    def test_what_did_not_go_out_was_found_and_another_rollout_begins_with_nothing(
        self, with_rule: Service
    ) -> None:
        start(with_rule)
        report(with_rule)
        for identity, kind in (("a" * 16, "grouped"), ("b" * 16, "suppressed")):
            post(with_rule, find(1, identity, kind=kind), find(2, identity))
        (job,) = with_rule.get(ROLLOUT)["jobs"]
        assert (job["both"], job["gained"], job["lost"]) == (2, 0, 0)
        start(with_rule, pattern=WIDEST)
        assert with_rule.get(ROLLOUT)["jobs"] == []

    def test_shadows_are_not_among_the_matches(self, with_rule: Service) -> None:
        start(with_rule)
        post(with_rule, find(1, "a" * 16), find(2, "a" * 16))
        for query, version in (("", 1), ("?kind=shadow", 2)):
            shown = with_rule.get(f"/v1/streams/logins/matches{query}")["items"]
            assert [each["version"] for each in shown] == [version]

    def test_so_many_are_compared_and_no_more(
        self, with_rule: Service, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(comparison, "MOST_COMPARED", 3)
        start(with_rule)
        report(with_rule)
        post(with_rule, *(find(1, f"{number:016}") for number in range(5)))
        post(with_rule, find(2, f"{0:016}"))
        (job,) = with_rule.get(ROLLOUT)["jobs"]
        assert (job["both"], job["lost"], job["is_complete"]) == (1, 2, False)

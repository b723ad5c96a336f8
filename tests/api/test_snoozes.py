"""Rules are snoozed for a key or all, listed, prolonged, woken; jobs read it in the snapshot."""

import json
from typing import Any

import pytest

from api.snoozes import service as snoozing
from contract.service.tokens import Role
from contract.snapshot import read_snapshot, snapshot_json
from tests.api.people import ask_for
from tests.api.running import START_MS, Service

PATH = "/v1/processors/failed-logins"
SNOOZES = f"{PATH}/snoozes"
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


def snooze(service: Service, query: str = "", lasts: int | str = "1 hour", **body: Any) -> Any:
    return service.post(f"{SNOOZES}{query}", Role.ADMIN, {"for": lasts} | body, expect=201)


def listed(service: Service, path: str = SNOOZES) -> list[tuple[Any, ...]]:
    items = service.get(path)["items"]
    return [(each["number"], each["key"], each["until"], each["is_over"]) for each in items]


def snapshot(service: Service) -> Any:
    content = service.client.get("/v1/streams/logins/snapshot").content
    assert snapshot_json(read_snapshot(content)) == content
    return json.loads(content)


class TestSnoozes:
    def test_they_end_with_their_rule(self, with_rule: Service) -> None:
        snooze(with_rule)
        snooze(with_rule, key="eve")
        client, epoch = with_rule.client, with_rule.epoch()
        before = client.get("/v1/streams/logins/snapshot").content
        with_rule.done("DELETE", PATH)
        of_stream = "/v1/streams/logins/snoozes"
        assert (listed(with_rule, of_stream), "snoozes" in snapshot(with_rule)) == ([], False)
        with_rule.publish()
        assert (listed(with_rule), "snoozes" in snapshot(with_rule)) == ([], False)
        assert client.get(f"/v1/streams/logins/epochs/{epoch}").content == before

    def test_jobs_read_it_and_older_epochs_keep_their_bytes(self, with_rule: Service) -> None:
        before = with_rule.client.get("/v1/streams/logins/snapshot").content
        assert b"snoozes" not in before
        etag = with_rule.client.get(PATH).headers["ETag"]
        begun = snooze(with_rule, "?comment=drill", key="eve")
        shown = (begun["until"], begun["key"], begun["is_over"], begun["comment"])
        assert shown == ("2027-01-15T09:00:00.000Z", "eve", False, "drill")
        every = snooze(with_rule, lasts=5_000)
        assert snapshot(with_rule)["snoozes"] == [
            {"id": "failed-logins", "key": None, "until_ms": START_MS + 5_000},
            {"id": "failed-logins", "key": "eve", "until_ms": START_MS + HOUR_MS},
        ]
        assert with_rule.client.get(PATH).headers["ETag"] == etag
        for each in (begun, every):
            path = f"{SNOOZES}/{each['number']}"
            assert with_rule.client.delete(f"{path}?comment=over").status_code == 204
            assert with_rule.client.delete(path).status_code == 404
        assert "snoozes" not in snapshot(with_rule)
        assert with_rule.client.get("/v1/streams/logins/epochs/2").content == before
        at_four = with_rule.client.get("/v1/streams/logins/epochs/4").json()
        assert len(at_four["snoozes"]) == 2

    def test_who_did_it_and_why_is_in_the_log(self, with_rule: Service) -> None:
        begun = snooze(with_rule, "?comment=drill", key="eve")
        with_rule.done("DELETE", f"{SNOOZES}/{begun['number']}?comment=over")
        names = ("action", "processor_id", "subject", "comment", "epoch")
        until = "key eve, until 2027-01-15T09:00:00.000Z"
        assert [tuple(each[name] for name in names) for each in with_rule.log(limit=2)] == [
            ("snooze.end", "failed-logins", "key eve", "over", 4),
            ("snooze.begin", "failed-logins", until, "drill", 3),
        ]

    def test_another_for_the_same_key_takes_its_place(self, with_rule: Service) -> None:
        ask_for(with_rule, 1)  # it takes no approval
        snooze(with_rule)
        longer = snooze(with_rule, lasts="2 hours")
        assert listed(with_rule) == [(longer["number"], None, "2027-01-15T10:00:00.000Z", False)]
        assert len(snapshot(with_rule)["snoozes"]) == 1

    def test_those_that_are_over_leave_after_a_day(self, with_rule: Service) -> None:
        first = snooze(with_rule)
        with_rule.clock.time_ms += HOUR_MS
        assert listed(with_rule, "/v1/streams/logins/snoozes")[0][3] is True
        second = snooze(with_rule, key="")
        assert [each[0] for each in listed(with_rule)] == [first["number"], second["number"]]
        with_rule.clock.time_ms += DAY_MS + 1
        third = snooze(with_rule, key="bob")
        assert [each[0] for each in listed(with_rule)] == [second["number"], third["number"]]

    def test_a_stream_has_only_so_many(
        self, with_rule: Service, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(snoozing, "MAXIMUM_SNOOZES", 2)
        snooze(with_rule)
        snooze(with_rule, key="eve")
        epoch = with_rule.epoch()
        refused = with_rule.post(SNOOZES, Role.ADMIN, {"for": 1, "key": "bob"}, expect=409)
        assert "limit" in refused["detail"]
        assert with_rule.epoch() == epoch
        snooze(with_rule, key="eve")

    def test_what_cannot_be_or_is_not_there_is_refused(self, with_rule: Service) -> None:
        for body, pointer in (
            ({}, "/until"),
            ({"for": "1 hour", "until": START_MS + 1}, "/until"),
            ({"until": START_MS}, "/until"),
            ({"until": START_MS + 400 * DAY_MS}, "/until"),
            ({"for": "400 days"}, "/for"),
            ({"for": "soon"}, "/for"),
            ({"for": 0}, "/for"),
            ({"for": "1 hour", "key": 7}, "/key"),
            ({"for": "1 hour", "key": "k" * 1_001}, "/key"),
            ({"for": "1 hour", "keys": []}, "/keys"),
        ):
            answer = with_rule.post(SNOOZES, Role.ADMIN, body, expect=422)
            assert [error["pointer"] for error in answer["errors"]] == [pointer]
        for path in (SNOOZES.replace("failed", "no"), "/v1/streams/none/snoozes"):
            with_rule.get(path, expect=404)
        assert with_rule.send("DELETE", f"{SNOOZES}/7").status_code == 404
        with_rule.done("DELETE", PATH)
        assert with_rule.send("POST", SNOOZES, {"for": 1}).status_code == 404

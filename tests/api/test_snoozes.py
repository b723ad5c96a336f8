"""Rules are snoozed for a key or all, listed, prolonged, woken; jobs read it in the snapshot."""

from typing import Any

import pytest

from api.snoozes import service as snoozing
from contract.service.tokens import Role
from contract.snapshot import read_snapshot, snapshot_json
from tests.api.documents import ANY_STATE
from tests.api.people import ask_for
from tests.api.running import START_MS, Publish, ServiceUnderTest

PATH = "/v1/processors/failed-logins"
SNOOZES = f"{PATH}/snoozes"
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


def snooze(
    service: ServiceUnderTest, query: str = "", lasts: int | str = "1 hour", **body: Any
) -> Any:
    return service.post(f"{SNOOZES}{query}", Role.ADMIN, {"for": lasts} | body, expect=201)


def listed(service: ServiceUnderTest, path: str = SNOOZES) -> list[tuple[Any, ...]]:
    items = service.client.get(path).json()["items"]
    return [(each["number"], each["key"], each["until"], each["is_over"]) for each in items]


def snapshot(service: ServiceUnderTest) -> Any:
    answer = service.client.get("/v1/streams/logins/snapshot")
    assert snapshot_json(read_snapshot(answer.content)) == answer.content
    return answer.json()


class TestSnoozes:
    def test_they_end_with_their_rule(
        self, with_stream: ServiceUnderTest, publish: Publish
    ) -> None:
        publish()
        snooze(with_stream)
        snooze(with_stream, key="eve")
        client = with_stream.client
        before = client.get("/v1/streams/logins/snapshot").content
        epoch = snapshot(with_stream)["epoch"]
        assert client.delete(PATH, headers=ANY_STATE).is_success
        of_stream = "/v1/streams/logins/snoozes"
        assert (listed(with_stream, of_stream), "snoozes" in snapshot(with_stream)) == ([], False)
        publish()
        assert (listed(with_stream), "snoozes" in snapshot(with_stream)) == ([], False)
        older = client.get(f"/v1/streams/logins/epochs/{epoch}")
        assert older.content == before

    def test_jobs_read_it_and_older_epochs_keep_their_bytes(
        self, with_rule: ServiceUnderTest
    ) -> None:
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

    def test_who_did_it_and_why_is_in_the_log(self, with_rule: ServiceUnderTest) -> None:
        begun = snooze(with_rule, "?comment=drill", key="eve")
        with_rule.client.delete(f"{SNOOZES}/{begun['number']}?comment=over")
        newest = with_rule.client.get("/v1/changes?limit=2").json()["items"]
        assert [
            (each["action"], each["processor_id"], each["subject"], each["comment"], each["epoch"])
            for each in newest
        ] == [
            ("snooze.end", "failed-logins", "key eve", "over", 4),
            (
                "snooze.begin",
                "failed-logins",
                "key eve, until 2027-01-15T09:00:00.000Z",
                "drill",
                3,
            ),
        ]

    def test_another_for_the_same_key_takes_its_place(self, with_rule: ServiceUnderTest) -> None:
        snooze(with_rule)
        longer = snooze(with_rule, lasts="2 hours")
        assert listed(with_rule) == [(longer["number"], None, "2027-01-15T10:00:00.000Z", False)]
        assert len(snapshot(with_rule)["snoozes"]) == 1

    def test_those_that_are_over_leave_after_a_day(self, with_rule: ServiceUnderTest) -> None:
        first = snooze(with_rule)
        with_rule.clock.time_ms += HOUR_MS
        assert listed(with_rule, "/v1/streams/logins/snoozes")[0][3] is True
        second = snooze(with_rule, key="")
        assert [each[0] for each in listed(with_rule)] == [first["number"], second["number"]]
        with_rule.clock.time_ms += DAY_MS + 1
        third = snooze(with_rule, key="bob")
        assert [each[0] for each in listed(with_rule)] == [second["number"], third["number"]]

    def test_a_stream_has_only_so_many(
        self,
        with_rule: ServiceUnderTest,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(snoozing, "MAXIMUM_SNOOZES", 2)
        snooze(with_rule)
        snooze(with_rule, key="eve")
        epoch = snapshot(with_rule)["epoch"]
        answer = with_rule.client.post(SNOOZES, json={"for": 1, "key": "bob"})
        assert (answer.status_code, "limit" in answer.json()["detail"]) == (409, True)
        assert snapshot(with_rule)["epoch"] == epoch
        snooze(with_rule, key="eve")

    @pytest.mark.parametrize(
        ("body", "pointer"),
        [
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
        ],
    )
    def test_what_cannot_be_is_refused(
        self, with_rule: ServiceUnderTest, body: Any, pointer: str
    ) -> None:
        answer = with_rule.post(SNOOZES, Role.ADMIN, body, expect=422)
        assert [error["pointer"] for error in answer["errors"]] == [pointer]

    def test_it_takes_no_approval(self, with_rule: ServiceUnderTest) -> None:
        ask_for(with_rule, 1)
        assert snooze(with_rule)["number"]

    def test_what_is_not_there(self, with_rule: ServiceUnderTest) -> None:
        for path in (SNOOZES.replace("failed", "no"), "/v1/streams/none/snoozes"):
            assert with_rule.client.get(path).status_code == 404
        assert with_rule.client.delete(f"{SNOOZES}/7").status_code == 404
        with_rule.client.delete(PATH, headers=ANY_STATE)
        assert with_rule.client.post(SNOOZES, json={"for": 1}).status_code == 404

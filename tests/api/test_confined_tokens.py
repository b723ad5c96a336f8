"""Tokens that are confined to some streams: made, listed, and used beside other streams."""

from collections.abc import Iterator
from typing import Any

import pytest
from httpx2 import Response
from sqlalchemy import inspect

from api.store.database import migrate
from contract.service.tokens import Role
from tests.api.documents import STREAM
from tests.api.jobs import running
from tests.api.running import Service, running_service
from tests.api.two_streams import Names, confined_header, filled_stream, rule_document

OWN, OTHER = "logins", "payments"
HOOK = {"name": "all", "url": "https://example.com/", "events": ["job.stale"]}


@pytest.fixture
def own(service: Service) -> Names:
    """The names in one of two streams."""
    filled_stream(service, OTHER)
    return filled_stream(service, OWN)


@pytest.fixture
def headers(service: Service, own: Names) -> dict[str, str]:
    """The header of an admin's token that is confined to that stream."""
    return confined_header(service, own["stream"])


def listed(service: Service, path: str, headers: dict[str, str]) -> Iterator[Any]:
    """Yield all items of a list, one page of two after the other."""
    cursor: dict[str, str] = {}
    while True:
        answer = service.client.get(path, params={"limit": "2"} | cursor, headers=headers)
        assert answer.status_code == 200, answer.text
        page = answer.json()
        yield from page["items"]
        if page["next_cursor"] is None:
            return
        assert len(page["items"]) == 2  # a page is full, whatever stands between its items
        cursor = {"cursor": page["next_cursor"]}


def make(service: Service, **document: Any) -> Any:
    return service.client.post("/v1/tokens", json={"name": "ci", "role": "viewer"} | document)


class TestMaking:
    def test_its_streams_are_listed_and_logged(self, service: Service) -> None:
        made = make(service, streams=["b", "a", "b"]).json()
        assert made["streams"] == ["a", "b"]
        assert make(service).json()["streams"] is None
        assert make(service, streams=None).json()["streams"] is None
        shown = {each["id"]: each for each in service.client.get("/v1/tokens").json()}
        assert shown[made["id"]]["streams"] == ["a", "b"]
        log = service.client.get("/v1/changes?action=token.create").json()["items"]
        assert f"{made['id']} ci viewer on a, b" in [each["subject"] for each in log]

    def test_names_are_exact_and_bounded(self, service: Service) -> None:
        for streams in (
            [],
            [""],
            ["a*"],
            ["a", 1],
            "a",
            ["x" * 101],
            [f"s{n}" for n in range(101)],
        ):
            answer = make(service, streams=streams)
            assert answer.status_code == 422
            assert answer.json()["errors"][0]["pointer"].startswith("/streams")

    def test_a_confined_admin_makes_none(
        self, service: Service, own: Names, headers: dict[str, str]
    ) -> None:
        """So none can be made that is wider."""
        for streams in (None, [OWN], [OWN, OTHER]):
            body = {"name": "ci", "role": "viewer", "streams": streams}
            answer = service.send("POST", "/v1/tokens", body, **headers)
            assert (answer.status_code, own["stream"] in answer.json()["detail"]) == (403, True)

    def test_the_migration_takes_no_confinement_away(self, database_url: str) -> None:
        with running_service(database_url) as service:
            confined = make(service, streams=["a"]).json()["id"]
            open_token = make(service).json()["id"]
            engine = service.database.engine
            while any(each["name"] == "streams" for each in inspect(engine).get_columns("tokens")):
                migrate(engine, "-1")
            migrate(engine)
            shown = {each["id"]: each for each in service.client.get("/v1/tokens").json()}
        assert shown[confined]["revoked_at"] is not None
        assert shown[open_token]["revoked_at"] is None


class TestLists:
    def test_pages_hold_the_own_streams_only_also_with_a_filter_for_another(
        self, service: Service, own: Names, headers: dict[str, str]
    ) -> None:
        for number in range(3):
            for stream in (OTHER, OWN):
                service.done("POST", "/v1/processors", rule_document(stream, f"{number}-{stream}"))

        def items(name: str) -> list[Any]:
            return list(listed(service, f"/v1/{name}", headers))

        rules = [each["id"] for each in items("processors")]
        assert rules == ["0-logins", "1-logins", "2-logins", "logins-paused", "logins-rule"]
        changes = items("changes")
        assert {each["stream"] for each in changes} == {OWN}
        assert changes == service.log(stream=OWN, limit=500)
        assert [each["name"] for each in items("streams")] == [OWN]
        assert {each["stream"] for each in items("backtests")} == {OWN}
        assert own["proposal"] in [each["id"] for each in items("proposals")]
        for name in ("processors", "changes", "proposals", "backtests"):
            path = f"/v1/{name}?stream={OTHER}"
            assert service.client.get(path, headers=headers).json()["items"] == [], name

    def test_totals_are_of_the_own_streams(self, service: Service, headers: dict[str, str]) -> None:
        def overview(headers: dict[str, str] | None = None) -> Any:
            return service.client.get("/v1/overview", headers=headers).json()

        assert [len(overview()["streams"]), overview()["quarantined"]] == [2, 2]
        own = overview(headers)
        assert [len(own["streams"]), own["quarantined"], own["jobs_left_out"]] == [1, 1, 0]
        both = confined_header(service, OWN, OTHER)
        assert overview(both) == overview()


class TestBesideOthers:
    """Requests about the own stream that name something of another one in body, query or path."""

    def test_they_are_answered_as_if_it_were_not_there(
        self, service: Service, headers: dict[str, str]
    ) -> None:
        foreign, foreign_rule = [f"{OTHER}-rule"], rule_document(OTHER, f"{OWN}-rule")
        for method, path, body, status in (
            ("POST", f"/v1/streams/{OWN}/rules/pause", {"ids": foreign}, 422),
            ("POST", f"/v1/streams/{OWN}/rules/resume", {"ids": [f"{OWN}-rule", *foreign]}, 422),
            ("GET", f"/v1/streams/{OWN}/processors/{OTHER}-rule/running", None, 404),
            ("PUT", f"/v1/processors/{OTHER}-rule", rule_document(OWN, f"{OTHER}-rule"), 404),
            ("PUT", f"/v1/processors/{OWN}-rule", foreign_rule, 404),
            ("POST", f"/v1/processors/{OWN}-rule/rollout", foreign_rule, 404),
            ("POST", "/v1/proposals", {"document": rule_document(OTHER, "new")}, 404),
            ("POST", "/v1/backtests", {"document": rule_document(OTHER, "new")}, 404),
            ("POST", "/v1/streams", STREAM | {"name": "third"}, 404),
            ("PUT", "/v1/streams/third", STREAM | {"name": "third"}, 404),
        ):
            answer = service.send(method, path, body, **headers)
            assert answer.status_code == status, (path, answer.text)
        known = service.get("/v1/streams")["items"]
        assert [each["name"] for each in known] == [OWN, OTHER]

    def test_an_id_that_is_taken_elsewhere_is_taken(
        self, service: Service, headers: dict[str, str]
    ) -> None:
        """Ids are of the whole service: that is all that is told."""
        document = rule_document(OWN, f"{OTHER}-rule")
        answer = service.client.post("/v1/processors", json=document, headers=headers)
        assert answer.status_code == 409
        assert answer.json()["detail"] == "The id 'payments-rule' is taken. Choose a different one."
        path, if_new = f"/v1/processors/{OTHER}-rule", headers | {"If-None-Match": "*"}
        assert service.client.put(path, json=document, headers=if_new).status_code == 409
        hook = HOOK | {"name": f"{OTHER} hook", "stream": OWN}
        assert service.client.post("/v1/webhooks", json=hook, headers=headers).status_code == 409

    def test_a_webhook_of_all_streams_takes_a_token_of_all(
        self, service: Service, headers: dict[str, str]
    ) -> None:
        of_all = service.done("POST", "/v1/webhooks", HOOK)["id"]
        assert service.send("GET", f"/v1/webhooks/{of_all}", **headers).status_code == 404
        answer = service.send("POST", "/v1/webhooks", HOOK | {"name": "x"}, **headers)
        assert (answer.status_code, "all streams" in answer.json()["detail"]) == (403, True)

    def test_a_worker_is_given_what_is_of_its_streams(self, service: Service, own: Names) -> None:
        headers = confined_header(service, OWN, role=Role.JOB)
        body = {"worker": "one", "streams": [OTHER, OWN]}
        path = "/v1/backtests/workers/claim"
        *tasks, none = (
            service.send("POST", path, body, **headers).json()["task"] for _ in range(3)
        )
        given = [task["number"] for task in tasks]
        assert (given, none) == ([own["explanation"], own["waiting"]], None)
        workers = service.get(f"/v1/backtests/workers?stream={OTHER}")["workers"]
        assert "one" not in {each["name"] for each in workers}

    def test_a_job_says_nothing_of_rules_of_another_stream(
        self, service: Service, own: Names
    ) -> None:
        headers = confined_header(service, OWN, role=Role.JOB)
        told = {"processor": f"{OTHER}-rule", "action": "processor.quarantine"}
        before = service.log(**told)
        broken = running(f"{OTHER}-rule", state="quarantined")
        beat = {"instance_id": own["instance"], "sequence": 2, "versions": [broken]}
        answer = service.send("POST", f"/v1/jobs/{own['job_id']}/heartbeats", beat, **headers)
        assert answer.status_code == 200
        assert answer.json()["asked_keys"] != []
        assert OTHER not in answer.text
        assert service.log(**told) == before


def test_an_admin_registers_a_stream_of_its_names(service: Service) -> None:
    headers = confined_header(service, OWN)
    for path, body in (("streams", STREAM), ("processors", rule_document(OWN, "mine"))):
        assert service.send("POST", f"/v1/{path}", body, **headers).status_code == 201
    listed = service.send("GET", "/v1/streams", **headers).json()["items"]
    assert listed[0]["name"] == OWN


def test_two_confined_tokens_have_keys_of_their_own(
    service: Service, headers: dict[str, str]
) -> None:
    """A change under a key is kept for its token, and is answered again."""

    def create(headers: dict[str, str]) -> Response:
        keyed = headers | {"Idempotency-Key": "once"}
        return service.send("POST", "/v1/processors", rule_document(OWN, "mine"), **keyed)

    first, again = create(headers), create(headers)
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert create(confined_header(service, OTHER)).status_code == 404


def test_while_the_store_is_away_a_confined_token_reads_no_metrics(
    service: Service, headers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def statuses() -> list[int]:
        every = (headers, service.as_role(Role.VIEWER))
        return [service.client.get("/metrics", headers=each).status_code for each in every]

    assert service.client.get("/v1/streams", headers=headers).status_code == 200
    assert statuses() == [403, 200]

    async def is_away() -> bool:
        return False

    monkeypatch.setattr(service.app.state.runtime.readiness, "is_ready", is_away)
    assert statuses() == [503, 200]


def test_a_session_of_the_dashboard_is_confined_too(
    service: Service, headers: dict[str, str]
) -> None:
    token = headers["Authorization"].removeprefix("Bearer ")
    del service.client.headers["Authorization"]
    ours = {"X-Percept-Dashboard": "1", "Origin": "http://testserver"}
    answer = service.client.post("/session", json={"token": token}, headers=ours)
    assert answer.json()["streams"] == [OWN]
    by_cookie = service.client.get("/v1/streams", headers={"Sec-Fetch-Site": "same-origin"})
    assert [each["name"] for each in by_cookie.json()["items"]] == [OWN]
    assert service.client.get(f"/v1/streams/{OTHER}").status_code == 404

"""Whatever is sent, the answer is a problem document that says where and why."""

import json
from typing import Any

import pytest

from api.observability import requests
from tests.api.documents import STREAM, processor_document
from tests.api.running import Service, running_service

JSON = {"Content-Type": "application/json"}
DEEP = "[" * 100_000 + "]" * 100_000


def problem(answer: Any, status: int) -> Any:
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"
    body = answer.json()
    assert body["status"] == status
    assert body["request_id"] == answer.headers["X-Request-ID"]
    return body


def test_a_body_that_cannot_be_taken_is_refused_with_its_place(service: Service) -> None:
    for body, status, pointer, detail in (
        ('{"name": ', 400, "", "Expecting value"),
        ('{"name": "a\\u0000b"}', 400, "/name", "NUL"),
        ('{"name": "\\ud800"}', 400, "/name", "surrogate"),
        ('{"\\ud800": 1}', 400, "", "surrogate"),
        ('{"a": [1, 18446744073709551616]}', 400, "/a/1", "64 bits"),
        ('{"a": 1e999}', 400, "/a", "too large"),
        ('{"a": NaN}', 400, "", "NaN"),
        ('{"a": 1, "a": 2}', 400, "", "twice"),
        ("9" * 5_000, 400, "", "too many digits"),
        ('{"a": ' + "[" * 70 + "]" * 70 + "}", 400, "", "nested"),
        (DEEP, 400, "", "nested"),
        (b"\xff", 400, "", "UTF-8"),
        ('{"name": "x", "nmae": 1}', 422, "/nmae", "not permitted"),
        ('["a list"]', 422, "", "mapping"),
        ("", 422, "", "required"),
    ):
        errors = problem(service.client.post("/v1/streams", content=body, headers=JSON), status)[
            "errors"
        ]
        assert any(flaw["pointer"] == pointer and detail in flaw["detail"] for flaw in errors), (
            errors
        )
    body = json.dumps(STREAM, indent=1).replace('"logins",', '"logins"')
    answer = service.client.post("/v1/streams", content=body, headers=JSON)
    (flaw,) = problem(answer, 400)["errors"]
    assert (flaw["line"], flaw["column"]) == (3, 2)


def test_unknown_paths_and_methods_are_problem_documents_too_and_make_no_series(
    service: Service,
) -> None:
    problem(service.client.get("/v2/anything"), 404)
    answer = service.client.delete("/v1/streams")
    problem(answer, 405)
    assert answer.headers["Allow"]
    for number in range(3):
        assert service.client.request(f"MINE{number}", "/v1/streams").status_code == 405
    text = service.client.get("/metrics").text
    assert "MINE" not in text
    assert 'percept_http_request_seconds_count{method="other",route="/v1/streams"' in text


def test_a_request_id_is_taken_over_if_it_is_sane(service: Service) -> None:
    for given, is_kept in (("abc-1", True), ("a b", False), ("x" * 99, False)):
        answer = service.client.get("/v1/streams", headers={"X-Request-ID": given})
        assert (answer.headers["X-Request-ID"] == given) == is_kept


def test_a_wrong_parameter_is_refused_with_its_name(service: Service) -> None:
    for path in (
        "/v1/processors?cursor=nonsense",
        "/v1/processors?cursor=WyJhIl0",
        "/v1/processors?limit=0",
        "/v1/processors?text=%00",
        "/v1/processors?sort=colour",
        "/v1/processors?stat=paused",
        "/v1/processors/%00",
        "/v1/processors/a%20b",
        "/v1/changes?epoch=99999999999999999999",
        "/v1/streams/logins/epochs/0",
        "/v1/streams/logins/snapshot?wait=forever",
    ):
        (flaw,) = problem(service.client.get(path), 422)["errors"]
        assert flaw["pointer"].split("/")[0] in {"query", "path"}


def test_a_body_that_is_too_large_is_refused_announced_or_not(service: Service) -> None:
    service.begin_anew(max_body_bytes=2_000)
    large = json.dumps(processor_document(description="x" * 3_000)).encode()
    for content in (large, iter([large[:1_000], large[1_000:]])):
        problem(service.client.post("/v1/validate", content=content, headers=JSON), 413)


def test_metrics_count_requests_by_route_not_by_path(with_stream: Service) -> None:
    for name in ("logins", "nothing"):
        with_stream.client.get(f"/v1/streams/{name}")
    text = with_stream.client.get("/metrics").text
    route = 'percept_http_request_seconds_count{method="GET",route="/v1/streams/{name}"'
    for status in (200, 404):
        assert f'{route},status="{status}",waited="no"}} 1.0' in text
    assert 'percept_stream_epoch{stream="logins"} 1.0' in text


def test_head_is_answered_wherever_get_is(with_rule: Service) -> None:
    client, stream = with_rule.client, "/v1/streams/logins/matches/stream"
    changing = {"x-request-id", "content-length", "content-security-policy"}

    def shown(answer: Any) -> Any:
        headers = {k: v for k, v in answer.headers.items() if k not in changing}
        return answer.status_code, headers

    for path in (
        *("/v1/streams", "/v1/streams/logins/snapshot", "/v1/processors/failed-logins"),
        *("/v1/processors/unknown", "/healthz", "/metrics", "/openapi.json"),
        *("/streams/logins/rules", "/favicon.ico"),
    ):
        head = client.head(path)
        assert head.content == b""
        assert shown(head) == shown(client.get(path))
    head = client.head(stream)  # of what has no end
    assert (head.status_code, head.content) == (200, b"")
    assert with_rule.app.state.runtime.match_listeners.open == 0
    assert client.head("/v1/validate").status_code == 405


def test_no_answer_is_kept_unless_it_says_so(with_rule: Service) -> None:
    client = with_rule.client
    for path in (
        *("/v1/streams", "/v1/tokens", "/v1/changes", "/v1/streams/unknown", "/v1/streams?nmae=1"),
        *("/healthz", "/metrics", "/session", "/nowhere"),
    ):
        assert client.get(path).headers["Cache-Control"] == "no-store", path
    assert client.post("/v1/tokens", json={}).headers["Cache-Control"] == "no-store"
    for path in ("/v1/processors/failed-logins", "/v1/streams/logins/snapshot"):
        assert client.get(path).headers["Cache-Control"] == "private, no-cache"


def test_the_log_names_tokens_by_their_id(
    with_stream: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[dict[str, Any]] = []
    log = requests._log
    monkeypatch.setattr(log, "info", lambda _event, **line: lines.append(line), raising=False)
    token = {"name": "ci", "role": "admin"}
    made = [with_stream.done("POST", "/v1/tokens", token) for _ in range(2)]
    for each in made:
        own = {"Authorization": f"Bearer {each['token']}"}
        stream = STREAM | {"name": f"s{each['id']}"}
        assert with_stream.send("POST", "/v1/streams", stream, **own).status_code == 201
    named = [("ci", each["id"]) for each in made]
    assert [(line["token"], line["token_id"]) for line in lines[-2:]] == named
    changes = with_stream.log(actor="ci")
    assert [(each["actor"], each["actor_id"]) for each in changes] == named[::-1]
    first = made[0]["id"]
    assert [each["stream"] for each in with_stream.log(actor_id=first)] == [f"s{first}"]


def test_a_failure_is_a_problem_document_and_changes_nothing(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("out of luck")

    with running_service(database_url, raise_failures=False) as service:
        service.done("POST", "/v1/streams", STREAM)
        monkeypatch.setattr("api.processors.publications.follow_state", fail)
        answer = service.send("POST", "/v1/processors", processor_document())
        assert answer.status_code == 500
        assert "out of luck" not in answer.text
        assert service.epoch() == 1
        assert service.get("/v1/processors")["items"] == []

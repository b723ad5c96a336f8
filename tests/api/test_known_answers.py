"""Whoever has an answer already is told so: 304, without its body."""

from tests.api.running import Service
from tests.api.schema_run import description


def readable_paths() -> list[str]:
    """Return the addresses that answer JSON and need no parameter."""
    return [
        path
        for path, methods in description()["paths"].items()
        if "{" not in path
        and "304" in methods.get("get", {}).get("responses", {})
        and not any(each["required"] for each in methods["get"]["parameters"])
    ]


def test_every_read_of_json_has_a_tag(with_rule: Service) -> None:
    paths = readable_paths()
    assert {"/healthz", "/v1/changes", "/v1/processors", "/v1/streams", "/v1/tokens"} <= {*paths}
    for path in paths:
        answer = with_rule.client.get(path)
        assert "ETag" in answer.headers, path
        known = f'"of-something-else", {answer.headers["ETag"]}'
        again = with_rule.client.get(path, headers={"If-None-Match": known})
        assert again.status_code == 304, path


def test_a_list_is_sent_again_once_it_has_changed(with_rule: Service) -> None:
    client, path = with_rule.client, "/v1/processors"
    first = client.get(path)
    assert first.headers["ETag"].startswith('W/"')
    assert first.headers["Cache-Control"] == "no-store"
    known = {"If-None-Match": first.headers["ETag"]}
    for method in ("GET", "HEAD"):
        again = client.request(method, path, headers=known)
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["ETag"] == first.headers["ETag"]
        assert "Content-Type" not in again.headers
    with_rule.publish(id="another")
    changed = client.get(path, headers=known)
    assert changed.status_code == 200
    assert changed.headers["ETag"] != first.headers["ETag"]


def test_refusals_and_other_formats_have_none_nor_is_anybody_else_told(with_rule: Service) -> None:
    for path in ("/v1/streams/none", "/v1/processors?limit=0", "/metrics"):
        answer = with_rule.client.get(path, headers={"If-None-Match": "*"})
        assert answer.status_code != 304
        assert "ETag" not in answer.headers
    tag = with_rule.client.get("/v1/processors").headers["ETag"]
    headers = {"If-None-Match": tag, "Authorization": "Bearer unknown"}
    assert with_rule.client.get("/v1/processors", headers=headers).status_code == 401

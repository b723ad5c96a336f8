"""What the service says of itself: names, headers, examples of answers; what it takes for what."""

import re
from collections.abc import Callable, Iterator

import jsonschema_rs
import pytest

from tests.api.running import Service
from tests.api.schema_run import description, lasting_service_on, operations


@pytest.fixture(scope="module")
def lasting_service(migrated_store: Callable[[str], str]) -> Iterator[Service]:
    with lasting_service_on(migrated_store("sqlite")) as service:
        yield service


def test_operations_have_short_names_of_their_own_in_groups_that_are_described() -> None:
    every = [operation for _, operation in operations(description())]
    names = [operation["operationId"] for operation in every]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", name) for name in names)
    assert {"list_processors", "create_processor", "try_draft"} <= set(names)
    used = {tag for operation in every for tag in operation["tags"]}
    assert used == {tag["name"] for tag in description()["tags"]}


def test_what_may_be_tried_again_says_when() -> None:
    for path, operation in operations(description()):
        answers = operation["responses"]
        assert ("503" in answers) == (path != "/healthz")
        for status in {"429", "503"} & set(answers):
            assert "Retry-After" in answers[status]["headers"]
        if "ETag" in answers.get("200", {}).get("headers", {}) and "304" in answers:
            assert "ETag" in answers["304"]["headers"]
        if "requestBody" in operation:
            assert "408" in answers


def test_an_address_tells_all_its_methods_and_which_type_it_takes(lasting_service: Service) -> None:
    answer = lasting_service.client.options("/v1/processors/failed-logins")
    assert answer.status_code == 405
    assert answer.headers["Allow"] == "DELETE, GET, HEAD, PATCH, PUT"
    for wrong in (0, "true", 1.0):
        draft: dict[str, object] = {"text": "id: a", "events": [], "let_time_pass": wrong}
        answer = lasting_service.client.post("/v1/drafts/trial", json=draft)
        assert [flaw["pointer"] for flaw in answer.json()["errors"]] == ["/let_time_pass"]
    for name in ("version", "epoch", "start_ms", "end_ms"):
        whole = {"match_id": "0" * 16, "processor_id": "p", "version": 1, "epoch": 1}
        match = whole | {"start_ms": 1, "end_ms": 1, name: True}
        report = {"job": "fraud-job", "matches": [match]}
        answer = lasting_service.client.post("/v1/streams/logins/matches", json=report)
        assert [flaw["pointer"] for flaw in answer.json()["errors"]] == [f"/matches/0/{name}"]


def test_a_time_may_be_in_milliseconds_and_what_is_created_has_an_address() -> None:
    schemas = description()["components"]["schemas"]
    written = schemas["TokenDocument"]["properties"]["expires_at"]["anyOf"]
    given = next(one["anyOf"] for one in written if "anyOf" in one)
    assert [one["type"] for one in given] == ["string", "integer"]
    assert schemas["TokenView"]["properties"]["expires_at"]["anyOf"][0]["type"] == "string"
    created = {
        operation["operationId"]
        for _, operation in operations(description())
        if "Location" in operation["responses"].get("201", {}).get("headers", {})
    }
    assert created == {
        *("register_stream", "redefine_stream", "create_processor", "replace_processor"),
        *("create_list", "propose_change"),
    }


def test_every_body_has_an_example_of_its_schema() -> None:
    schemas = description()["components"]["schemas"]
    for path, operation in operations(description()):
        answers = (a for status, a in operation["responses"].items() if status.startswith("2"))
        for part in (operation.get("requestBody", {}), *answers):
            content = part.get("content", {}).get("application/json")
            if content is not None:
                assert "example" in content, path
                schema = content["schema"] | {"components": {"schemas": schemas}}
                jsonschema_rs.validate(schema, content["example"], validate_formats=True)

"""Requests made from the service's own description find no failure and no undocumented answer."""

import os
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import given, settings
from hypothesis import strategies as st

from api.app import create_app
from api.settings import Settings
from tests.api.documents import STREAM, processor_document
from tests.api.running import ServiceUnderTest, running_service

# A document may be of the right shape and still be refused: that is what its checks are for.
UNFIT_CHECKS = [schemathesis.checks.positive_data_acceptance]
EXAMPLES = 20 if os.environ.get("CI") else 5
DESCRIPTION = create_app(Settings(database_url="sqlite:///unused.db")).openapi()
OPERATIONS = [
    (method.upper(), path)
    for path, item in DESCRIPTION["paths"].items()
    for method, operation in item.items()
    # Server-sent events have no end that a client could wait for.
    if "text/event-stream" not in operation["responses"].get("200", {}).get("content", {})
]


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def lasting_service(
    request: pytest.FixtureRequest, migrated_store: Callable[[str], str]
) -> Iterator[ServiceUnderTest]:
    """One service that knows a stream and a processor, for all requests."""
    url = migrated_store(request.param)
    with running_service(url, raise_failures=False, max_wait_seconds=0.01) as service:
        assert service.client.post("/v1/streams", json=STREAM).status_code == 201
        assert service.client.post("/v1/processors", json=processor_document()).status_code == 201
        yield service


@pytest.fixture(scope="module")
def described(lasting_service: ServiceUnderTest) -> schemathesis.BaseSchema:
    """The service by its own description."""
    return schemathesis.openapi.from_asgi("/openapi.json", lasting_service.app)


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_every_answer_is_documented(
    described: schemathesis.BaseSchema, lasting_service: ServiceUnderTest, method: str, path: str
) -> None:
    operation = described[path][method]
    authorization = {"Authorization": lasting_service.client.headers["Authorization"]}
    good = operation.as_strategy(generation_mode=schemathesis.GenerationMode.POSITIVE)
    bad = operation.as_strategy(generation_mode=schemathesis.GenerationMode.NEGATIVE)

    @settings(max_examples=EXAMPLES)
    @given(case=st.one_of(good, bad))
    def requests(case: schemathesis.Case[Any]) -> None:
        case.call_and_validate(headers=authorization, excluded_checks=UNFIT_CHECKS)

    requests()


def test_operations_have_short_names_of_their_own() -> None:
    names = [operation["operationId"] for _, _, operation in operations()]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", name) for name in names)
    assert {"list_processors", "create_processor", "try_draft"} <= set(names)


def test_what_may_be_tried_again_says_when() -> None:
    for path, _, operation in operations():
        answers = operation["responses"]
        assert ("503" in answers) == (path != "/healthz")
        for status in {"429", "503"} & set(answers):
            assert "Retry-After" in answers[status]["headers"]
        if "ETag" in answers.get("200", {}).get("headers", {}) and "304" in answers:
            assert "ETag" in answers["304"]["headers"]
        if "requestBody" in operation:
            assert "408" in answers


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield path, method and description of every operation."""
    for path, item in DESCRIPTION["paths"].items():
        for method, operation in item.items():
            yield path, method, operation

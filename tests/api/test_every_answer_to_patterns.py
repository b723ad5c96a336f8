"""Requests whose bodies are whole patterns, with thousands of limits to be met and crossed."""

from collections.abc import Callable

import pytest

from tests.api.schema_run import lasting_service_on, operations, run_phase


@pytest.mark.nightly
@pytest.mark.parametrize(
    "operation_id",
    # What is created, tried or checked is read as what replaces another one.
    ["replace_processor"],
)
def test_every_answer_is_documented(
    migrated_store: Callable[[str], str], operation_id: str
) -> None:
    with lasting_service_on(migrated_store("sqlite")) as service:
        described = operations(service.app.openapi())
        others = {operation["operationId"] for _, operation in described} - {operation_id}
        run = run_phase(service, "coverage", 1, others)
    assert run.requests > 1_000
    assert not run.failures, "\n\n".join(run.failures)

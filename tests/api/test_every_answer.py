"""Requests made from the service's own description find no failure and no undocumented answer."""

from collections.abc import Callable, Iterator

import pytest

from tests.api.running import Service
from tests.api.schema_run import PHASES, TAKING_PATTERNS, lasting_service_on, run_phase

FEW_EXAMPLES = 3
AT_FIRST = "stateful"
"""The other phases take long."""


@pytest.fixture(scope="module")
def lasting_service(store_kind: str, migrated_store: Callable[[str], str]) -> Iterator[Service]:
    with lasting_service_on(migrated_store(store_kind)) as service:
        yield service


@pytest.mark.long
@pytest.mark.parametrize(
    ("phase", "examples"),
    [
        (AT_FIRST, FEW_EXAMPLES),
        *(
            pytest.param(phase, 5, marks=pytest.mark.nightly)
            for phase in PHASES
            if phase != AT_FIRST
        ),
    ],
)
def test_every_answer_is_documented(lasting_service: Service, phase: str, examples: int) -> None:
    left_out = TAKING_PATTERNS if phase == "coverage" else ()
    run = run_phase(lasting_service, phase, examples, left_out)
    assert run.has_run
    assert run.requests > 10
    assert not run.failures, "\n\n".join(run.failures)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("phase", "examples"),
    [("fuzzing", 20), ("stateful", 50)],
)
def test_every_answer_to_many_requests_is_documented(
    lasting_service: Service, phase: str, examples: int
) -> None:
    run = run_phase(lasting_service, phase, examples)
    assert run.requests >= examples
    assert not run.failures, "\n\n".join(run.failures)

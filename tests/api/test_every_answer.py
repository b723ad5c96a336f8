"""Requests made from the service's own description find no failure and no undocumented answer."""

from collections.abc import Callable, Iterator

import pytest

from tests.api.running import ServiceUnderTest
from tests.api.schema_run import PHASES, TAKING_PATTERNS, lasting_service_on, run_phase

EXAMPLES = 5
FEW_EXAMPLES = 3
STORES = ("sqlite", "postgresql")
AT_FIRST = {("postgresql", "examples"), ("sqlite", "stateful")}
"""With few examples; the others, and more examples, take long."""


@pytest.fixture(scope="module", params=STORES)
def lasting_service(
    request: pytest.FixtureRequest, migrated_store: Callable[[str], str]
) -> Iterator[ServiceUnderTest]:
    with lasting_service_on(migrated_store(request.param)) as service:
        yield service


@pytest.mark.parametrize(
    ("lasting_service", "phase", "examples"),
    [
        *((store, phase, FEW_EXAMPLES) for store, phase in sorted(AT_FIRST)),
        *(
            pytest.param(store, phase, EXAMPLES, marks=pytest.mark.long)
            for store in STORES
            for phase in PHASES
        ),
    ],
    indirect=["lasting_service"],
    scope="module",
)
def test_every_answer_is_documented(
    lasting_service: ServiceUnderTest, phase: str, examples: int
) -> None:
    left_out = TAKING_PATTERNS if phase == "coverage" else ()
    run = run_phase(lasting_service, phase, examples, left_out)
    assert run.has_run
    assert run.requests > 10
    assert not run.failures, "\n\n".join(run.failures)


@pytest.mark.long
@pytest.mark.parametrize(
    ("lasting_service", "phase", "examples"),
    [("sqlite", "fuzzing", 20), ("postgresql", "stateful", 50)],
    indirect=["lasting_service"],
)
def test_every_answer_to_many_requests_is_documented(
    lasting_service: ServiceUnderTest, phase: str, examples: int
) -> None:
    run = run_phase(lasting_service, phase, examples)
    assert run.requests > 100
    assert not run.failures, "\n\n".join(run.failures)

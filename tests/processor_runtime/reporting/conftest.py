"""A real rule service that tests stop and start again, and a job that speaks to it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from contract.service.tokens import Role
from processor_runtime.reporting import RuleService
from tests.discoverers.rule_service import RuleService as ServedRuleService
from tests.discoverers.rule_service import serving
from tests.patience import PATIENCE_SECONDS


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ServedRuleService]:
    with serving(tmp_path) as service:
        yield service


@pytest.fixture
def rules(served: ServedRuleService) -> Iterator[RuleService]:
    """The service as a job speaks to it."""
    token_of = served.token_of
    client = RuleService(served.url, lambda: token_of[Role.JOB], timeout_seconds=PATIENCE_SECONDS)
    yield client
    client.close()

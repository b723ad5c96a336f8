"""How many examples a property is tried on: the profile's number, or a share of it.

    --hypothesis-profile ──► gate: 20, the same in every run │ nightly: many, others in every run

An example that once found a fault is pinned beside its property (`@example`) for the gate.
"""

import os
from secrets import randbelow
from typing import Final

from hypothesis import HealthCheck, settings

_HEALTH: Final = (
    HealthCheck.data_too_large,
    HealthCheck.filter_too_much,
    HealthCheck.function_scoped_fixture,
    HealthCheck.too_slow,
)

settings.register_profile(
    "gate", deadline=None, max_examples=20, derandomize=True, suppress_health_check=_HEALTH
)
settings.register_profile(
    "nightly", deadline=None, max_examples=400, print_blob=True, suppress_health_check=_HEALTH
)


def load_gate() -> None:
    """Let every property run as in the gate, unless pytest is called with another profile."""
    settings.load_profile("gate")


def slow_property() -> settings:
    """Return what a property is decorated with whose examples take a tenth of a second and more."""
    return settings(max_examples=settings().max_examples // 4)


def is_nightly() -> bool:
    """Return whether this run may take hours and be another one each time."""
    return settings.get_current_profile_name() == "nightly"


def seed() -> int:
    """Return the seed of a test that draws by itself: `PERCEPT_SEED`, or that of the profile."""
    return int(os.environ.get("PERCEPT_SEED") or (randbelow(1_000_000) if is_nightly() else 1))

"""How a discoverer fares, for status pages and alerts."""

from dataclasses import dataclass
from enum import StrEnum

from discoverers.found import ProcessorProblem


class HealthStatus(StrEnum):
    """Whether the source could be read the last time it was tried."""

    UNKNOWN = "unknown"
    OK = "ok"
    FAILING = "failing"


@dataclass(frozen=True, slots=True)
class DiscovererHealth:
    """How a discoverer fares.

    `last_success_ms` and `last_error_ms` are milliseconds since 1970. `last_error` stays after a
    success, to be read with its time. `problems` are the processors of the last reading that cannot
    run as their source has them; the source itself is ok all the same.
    """

    status: HealthStatus = HealthStatus.UNKNOWN
    last_success_ms: int | None = None
    last_error: str | None = None
    last_error_ms: int | None = None
    consecutive_failures: int = 0
    problems: tuple[ProcessorProblem, ...] = ()

"""The status of a discoverer, for status pages and alerts."""

from dataclasses import dataclass
from enum import StrEnum

from discoverers.found import ProcessorProblem


class HealthStatus(StrEnum):
    """Whether the last attempt to read the source succeeded."""

    UNKNOWN = "unknown"
    OK = "ok"
    FAILING = "failing"


@dataclass(frozen=True, slots=True)
class DiscovererHealth:
    """The status of a discoverer.

    `last_success_ms` and `last_error_ms` are milliseconds since 1970. `last_error` is kept after a
    success, so check its time. `needs_mending` says that the last error was a refusal which waiting
    does not mend, such as of a token. `problems` are the processors of the last reading that cannot
    run; the status of the source is ok nevertheless.
    """

    status: HealthStatus = HealthStatus.UNKNOWN
    last_success_ms: int | None = None
    last_error: str | None = None
    last_error_ms: int | None = None
    consecutive_failures: int = 0
    needs_mending: bool = False
    problems: tuple[ProcessorProblem, ...] = ()

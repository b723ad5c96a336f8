"""The interval: the event times for which one version of a processor is active.

`timeline` resolves intervals, `phases` divides time by them, and both stages use the phases.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

BEGINNING_MS: Final = -(2**63)
"""Before every event."""
END_MS: Final = 2**63 - 1
"""After every event."""


class EndReason(StrEnum):
    """Why a version stops being active."""

    REPLACED = "replaced"
    EXPIRED = "expired"
    PAUSED = "paused"
    REMOVED = "removed"
    QUARANTINED = "quarantined"


@dataclass(frozen=True, slots=True)
class Interval:
    """The event times for which one version is active: `[active_from_ms, active_until_ms)`.

    With `drains`, partial matches begun before its end are finished, up to `drains_until_ms`;
    otherwise they are dropped at its end. `definition` is that of the snapshot, `digest` is equal
    for equal definitions.
    """

    processor_id: str
    version: int
    active_from_ms: int
    active_until_ms: int
    digest: str
    definition: Mapping[str, Any] = field(compare=False)
    end_reason: EndReason | None = None
    drains: bool = False
    drains_until_ms: int = END_MS

    @property
    def rule_id(self) -> str:
        """The unique name of this interval of this version."""
        return f"{self.processor_id}@{self.version}@{self.active_from_ms}"

    @property
    def given_up_ms(self) -> int:
        """The event time at which its last partial matches are given up, if it is not over then."""
        return self.drains_until_ms if self.drains else self.active_until_ms

    def is_same_version(self, other: "Interval") -> bool:
        """Whether it is of the same version with the same content."""
        return (self.processor_id, self.version, self.digest) == (
            other.processor_id,
            other.version,
            other.digest,
        )

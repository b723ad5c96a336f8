"""The interval: the event times for which one version of a processor is active.

`timeline` resolves intervals, `phases` divides time by them, and both stages use the phases.
`rollouts` divides the keys between two versions that are active side by side.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from contract.snapshot import KEY_SHARES

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
class LiveKeys:
    """From an event time on, what a version finds counts for keys of the parts `[first, until)`.

    Keys are divided into `KEY_SHARES` parts. What is found for the others is of kind `shadow`.
    """

    from_ms: int
    first: int
    until: int

    @property
    def are_of_rollout(self) -> bool:
        """Whether they are those of a version that is tried beside the published one."""
        return self.until < KEY_SHARES

    def __contains__(self, part: int) -> bool:
        """Whether a part is among them."""
        return self.first <= part < self.until


ALL_KEYS: Final = LiveKeys(BEGINNING_MS, 0, KEY_SHARES)


@dataclass(frozen=True, slots=True)
class Interval:
    """The event times for which one version is active: `[active_from_ms, active_until_ms)`.

    With `drains`, partial matches begun before its end are finished, up to `drains_until_ms`;
    otherwise they are dropped at its end. `definition` is that of the snapshot, `digest` is equal
    for equal definitions. `live_keys` are in the order of time, none = all keys, always. One that
    was tried before it was published is published from `promoted_ms` on.
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
    live_keys: tuple[LiveKeys, ...] = ()
    promoted_ms: int | None = None

    @property
    def share(self) -> int | None:
        """The share of the keys if it is the newer version of a rollout; else `None`."""
        newest = self.live_keys[-1] if self.live_keys else ALL_KEYS
        return newest.until if newest.are_of_rollout else None

    @property
    def published_from_ms(self) -> int:
        """The event time from which it is no rollout, or no longer one."""
        if self.share is not None:
            return END_MS
        return self.active_from_ms if self.promoted_ms is None else self.promoted_ms

    def keys_at(self, time_ms: int) -> LiveKeys:
        """Return the keys for which what it finds at an event time counts."""
        return next((k for k in reversed(self.live_keys) if k.from_ms <= time_ms), ALL_KEYS)

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

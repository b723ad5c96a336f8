"""What two versions of a rule find in the same history: both, gained, lost.

RuleFindings of one · of the other ──difference──► by the identity of matches
"""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from processor_runtime.backtest.findings import RuleFindings

_SAMPLES: Final = 5


@dataclass(frozen=True, slots=True)
class Difference:
    """How many matches both find, or one alone; with the first ones, as key and time.

    `before_ms` is there where a version finds more than are compared: only matches that were
    found before that time are compared, and of these all.
    """

    both: int
    gained: int
    lost: int
    first_gained: tuple[tuple[str, int], ...]
    first_lost: tuple[tuple[str, int], ...]
    before_ms: int | None


def difference(new: RuleFindings, old: RuleFindings) -> Difference:
    """Return how what a rule finds differs from what another version of it finds."""
    bounds = [each.named_before_ms for each in (new, old) if each.named_before_ms is not None]
    before_ms = min(bounds, default=None)
    ours, theirs = _before(new.named, before_ms), _before(old.named, before_ms)
    gained, lost = ours - theirs, theirs - ours
    return Difference(
        both=len(ours & theirs),
        gained=len(gained),
        lost=len(lost),
        first_gained=_first(new.named[identity] for identity in gained),
        first_lost=_first(old.named[identity] for identity in lost),
        before_ms=before_ms,
    )


def _before(named: Mapping[str, tuple[str, int]], before_ms: int | None) -> AbstractSet[str]:
    if before_ms is None:
        return named.keys()
    return {identity for identity, (_, end_ms) in named.items() if end_ms < before_ms}


def _first(found: Iterable[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(found, key=lambda place: (place[1], place[0]))[:_SAMPLES])

"""What two versions of a rule find in the same history: both, gained, lost.

RuleFindings of one · of the other ──difference──► by the identity of matches
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from processor_runtime.backtest.findings import RuleFindings

_SAMPLES: Final = 5


@dataclass(frozen=True, slots=True)
class Difference:
    """How many matches both find, or one alone; with the first ones, as key and time."""

    both: int
    gained: int
    lost: int
    first_gained: tuple[tuple[str, int], ...]
    first_lost: tuple[tuple[str, int], ...]


def difference(new: RuleFindings, old: RuleFindings) -> Difference:
    """Return how what a rule finds differs from what another version of it finds."""
    gained = new.named.keys() - old.named.keys()
    lost = old.named.keys() - new.named.keys()
    return Difference(
        both=len(new.named.keys() & old.named.keys()),
        gained=len(gained),
        lost=len(lost),
        first_gained=_first(new.named[identity] for identity in gained),
        first_lost=_first(old.named[identity] for identity in lost),
    )


def _first(found: Iterable[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(found, key=lambda place: (place[1], place[0]))[:_SAMPLES])

"""How far partial matches get, step by step, and why they end there: the funnel of a rule.

    Machine ──moved, ended──┐
                            ├──► StepTally ──by rule and step──► StepCounts
    cep.nfa_kernel ──add────┘

A partial match that several events could continue branches, and each branch counts. What a step of
a rule counts does not depend on which other rules share the machine, on how events are divided into
batches, or on whether compiled code moved them.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from cep.nfa.runs import CELL_STEP, Cell

_MOST_SETS: Final = 4_096
"""So many counts by set of rules are kept before they are added up rule by rule."""


class StepEvent(IntEnum):
    """What is counted at a step."""

    REACHED = 0
    """A partial match took its first event for the step, coming from another or from none."""
    AGAIN = 1
    """It took one more event for the same step."""
    TIMED_OUT = 2
    """Its window closed while the event of this step was its last."""
    BROKEN = 3
    """The next event allowed no way on: it was forbidden, or came between strict neighbours."""
    PRUNED = 4
    """The skip strategy gave it up for a match that came out; complete ones that waited, too."""
    DROPPED = 5
    """Its rule ended: it was paused, deleted, replaced without keeping it, or its time was over."""
    STOPPED = 6
    """Its rule was stopped: it broke a limit, or raised."""


Taken = tuple[int, int, bool]
"""An event that a partial match took: rules, step, whether it is its first of this step."""


@dataclass(slots=True)
class StepCounts:
    """The counts of one step of one rule.

    `reached` partial matches took an event for it, `events` in all; `timed_out`, `broken`,
    `pruned`, `dropped` and `stopped` ended with it as their last step (see `StepEvent`).
    `last_event_ms` is the event time of the newest event it took.
    """

    reached: int = 0
    events: int = 0
    timed_out: int = 0
    broken: int = 0
    pruned: int = 0
    dropped: int = 0
    stopped: int = 0
    last_event_ms: int | None = None

    def count(self, what: StepEvent, number: int, newest_ms: int | None = None) -> None:
        """Add a number of one kind; `newest_ms` is the time of the newest event taken."""
        match what:
            case StepEvent.REACHED:
                self.reached += number
                self.events += number
            case StepEvent.AGAIN:
                self.events += number
            case StepEvent.TIMED_OUT:
                self.timed_out += number
            case StepEvent.BROKEN:
                self.broken += number
            case StepEvent.PRUNED:
                self.pruned += number
            case StepEvent.DROPPED:
                self.dropped += number
            case StepEvent.STOPPED:
                self.stopped += number
        self._see(newest_ms)

    def add(self, other: "StepCounts") -> None:
        """Add the counts of another part of the events."""
        self.reached += other.reached
        self.events += other.events
        self.timed_out += other.timed_out
        self.broken += other.broken
        self.pruned += other.pruned
        self.dropped += other.dropped
        self.stopped += other.stopped
        self._see(other.last_event_ms)

    def _see(self, time_ms: int | None) -> None:
        if time_ms is not None and (self.last_event_ms is None or time_ms > self.last_event_ms):
            self.last_event_ms = time_ms


class StepTally:
    """Counts what happens to the partial matches of a machine, by set of rules."""

    __slots__ = ("_by_rule", "_by_set", "_newest_ms")

    def __init__(self) -> None:
        # By plain numbers: members of an enumeration are hashed by a function in Python.
        self._by_set: dict[tuple[int, int, int], int] = {}
        self._newest_ms: dict[tuple[int, int, int], int] = {}
        self._by_rule: dict[tuple[int, int], StepCounts] = {}

    def moved(
        self, taken: Iterable[Taken], broken: Sequence[tuple[int, Cell]], time_ms: int
    ) -> None:
        """Count the partial matches that an event took up or ended; times do not decrease."""
        if broken:
            self.count_ended(StepEvent.BROKEN, broken)
        for rules, step, is_first in taken:
            place = _REACHED if is_first else _AGAIN, step, rules
            self._by_set[place] = self._by_set.get(place, 0) + 1
            self._newest_ms[place] = time_ms
        if len(self._by_set) > _MOST_SETS:
            self._add_up()

    def count_ended(self, what: StepEvent, lasts: Iterable[tuple[int, Cell]]) -> None:
        """Count partial matches that end, given their rules and last events."""
        self.count_ended_at(what, ((rules, cell[CELL_STEP]) for rules, cell in lasts))

    def count_ended_at(self, what: StepEvent, lasts: Iterable[tuple[int, int]]) -> None:
        """Count partial matches that end, given their rules and last steps."""
        number = what.value
        for rules, step in lasts:
            place = number, step, rules
            self._by_set[place] = self._by_set.get(place, 0) + 1
        if len(self._by_set) > _MOST_SETS:
            self._add_up()

    def add(self, bit: int, step: int, counted: StepCounts) -> None:
        """Add what has been counted elsewhere for one rule, by its bit."""
        known = self._by_rule.setdefault((bit, step), counted)
        if known is not counted:
            known.add(counted)

    def by_rule(self) -> Iterator[tuple[int, int, StepCounts]]:
        """Yield the bit of each rule, a step by its number, and what was counted there.

        The counts are the caller's once this has been cleared.
        """
        self._add_up()
        for (bit, step), counts in self._by_rule.items():
            yield bit, step, counts

    def clear(self) -> None:
        """Begin again."""
        self._by_set.clear()
        self._newest_ms.clear()
        self._by_rule.clear()

    def _add_up(self) -> None:
        for place, number in self._by_set.items():
            what, step, rules = place
            while rules:
                lowest = rules & -rules
                rules ^= lowest
                counts = self._of(lowest.bit_length() - 1, step)
                counts.count(StepEvent(what), number, self._newest_ms.get(place))
        self._by_set.clear()
        self._newest_ms.clear()

    def _of(self, bit: int, step: int) -> StepCounts:
        counts = self._by_rule.get((bit, step))
        if counts is None:
            counts = self._by_rule[bit, step] = StepCounts()
        return counts


_REACHED: Final = StepEvent.REACHED.value
_AGAIN: Final = StepEvent.AGAIN.value

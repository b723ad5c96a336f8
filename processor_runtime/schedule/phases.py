"""Divides event time where the set of active rules changes.

intervals ──Phases──► phases, one after the other ──► which rules start, which continue, when
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from processor_runtime.schedule.interval import BEGINNING_MS, END_MS, Interval


@dataclass(frozen=True, slots=True)
class Phase:
    """Event times `[from_ms, until_ms)` in which the same rules are active.

    Rules in `starting` may begin partial matches; those in `going_on` (the same and the draining
    ones) may continue them. Rules are named by `Interval.rule_id`.
    """

    from_ms: int
    until_ms: int
    starting: frozenset[str]
    going_on: frozenset[str]


class Phases(Sequence[Phase]):
    """The phases of some intervals: ascending, without a gap, over all of time.

    The first stands for all time up to `past_ms`, as it was at the end of it. Each phase is
    computed on demand: of thousands of scheduled changes only a few are near.

    `past_ms`: no events up to this time will arrive.
    """

    def __init__(self, intervals: Sequence[Interval], past_ms: int = BEGINNING_MS) -> None:
        times = {interval.active_from_ms for interval in intervals}
        times |= {interval.active_until_ms for interval in intervals}
        times |= {interval.drains_until_ms for interval in intervals if interval.drains}
        self._intervals = intervals
        self._changes_ms = [past_ms, *sorted(at for at in times if past_ms < at < END_MS)]
        self._worked_out: dict[int, Phase] = {}

    def __len__(self) -> int:
        """Return how many phases there are, at least one."""
        return len(self._changes_ms)

    def __getitem__(self, index: int) -> Phase:  # type: ignore[override] # no slices
        """Return a phase.

        Raises:
            IndexError: there is no such phase.
        """
        index = range(len(self))[index]
        if index not in self._worked_out:
            self._worked_out[index] = self._phase(index)
        return self._worked_out[index]

    def at(self, time_ms: int) -> int:
        """Return the index of the phase that an event time is in."""
        return max(bisect_right(self._changes_ms, time_ms) - 1, 0)

    def _phase(self, index: int) -> Phase:
        at_ms, after = self._changes_ms[index], self._changes_ms[index + 1 :]
        starting = frozenset(
            interval.rule_id
            for interval in self._intervals
            if interval.active_from_ms <= at_ms < interval.active_until_ms
        )
        draining = {
            interval.rule_id
            for interval in self._intervals
            if interval.drains and interval.active_until_ms <= at_ms < interval.drains_until_ms
        }
        return Phase(
            from_ms=at_ms if index else BEGINNING_MS,
            until_ms=after[0] if after else END_MS,
            starting=starting,
            going_on=starting | draining,
        )

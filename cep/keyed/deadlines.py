"""When which key wants its windows looked at: a queue by time, bounded by the keys that wait.

    KeyedMatcher ──schedule, cancel──► DeadlineQueue ──pop_due(time)──► one key after the other

A key that has become idle, or has got a nearer deadline, leaves its entry behind. Such entries are
ignored when their time comes, and removed together once they outnumber those that count.

Source: "Priority Queue Implementation Notes" of Python's `heapq`.
"""

import heapq
from collections.abc import Hashable
from itertools import count
from typing import Final

from cep.keyed.machines import KeyState
from cep.keyed.shapes import Shape
from cep.nfa.runs import Scheduled

_TOLERATED: Final = 64
"""So few entries that do not count are not worth a look at all of them."""


class DeadlineQueue:
    """The keys of all shapes that wait for a window to close, each once."""

    def __init__(self) -> None:
        self._heap: list[tuple[Scheduled, Shape, Hashable]] = []
        self._numbers = count()
        self._left_behind = 0

    def __len__(self) -> int:
        """Return how many entries there are, those that do not count included."""
        return len(self._heap)

    def schedule(self, shape: Shape, key: Hashable, runs: KeyState, deadline_ms: int) -> None:
        """See that the windows of a key are looked at by `deadline_ms` at the latest."""
        if runs.scheduled is not None:
            scheduled_ms, _ = runs.scheduled
            if scheduled_ms <= deadline_ms:
                return
            self.cancel(runs)
        runs.scheduled = (deadline_ms, next(self._numbers))
        heapq.heappush(self._heap, (runs.scheduled, shape, key))

    def cancel(self, runs: KeyState) -> None:
        """Have a key that is idle no longer looked at."""
        if runs.scheduled is None:
            return
        runs.scheduled = None
        self._left_behind += 1
        if self._left_behind > max(_TOLERATED, len(self._heap) // 2):
            self._heap = [entry for entry in self._heap if _runs_of(*entry) is not None]
            heapq.heapify(self._heap)
            self._left_behind = 0

    def pop_due(self, time_ms: int) -> tuple[int, Shape, Hashable, KeyState] | None:
        """Return the next key to look at up to a time, with its deadline; it waits no longer."""
        while self._heap and self._heap[0][0] < (time_ms + 1,):
            scheduled, shape, key = heapq.heappop(self._heap)
            runs = _runs_of(scheduled, shape, key)
            if runs is not None:
                runs.scheduled = None
                return scheduled[0], shape, key, runs
            self._left_behind -= 1
        return None

    def clear(self) -> None:
        """Forget all keys."""
        self._heap.clear()
        self._left_behind = 0


def _runs_of(scheduled: Scheduled, shape: Shape, key: Hashable) -> KeyState | None:
    """Return the partial matches an entry is about; `None` if it does not count any more."""
    runs = shape.keys.get(key)
    return runs if runs is not None and runs.scheduled is scheduled else None

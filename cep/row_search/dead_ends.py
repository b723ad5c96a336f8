"""What starts that failed have shown: where a candidate has been that came to nothing.

Two candidates with the same future at the same row come to the same. So what a start has tried in
vain need not be tried for the starts after it, and a run of rows that never completes a match is
walked once and not once for each of them. Kept during one call of the search only.

Source: memoized backtracking, as in the linear engine of V8 and in Davis et al. 2021, "Using
Selective Memoization to Defeat Regular Expression Denial of Service".
"""

from collections.abc import Set as AbstractSet
from typing import Any, Final

_KEPT: Final = 200_000
"""How many futures are kept; from there on all is tried again."""


class DeadEnds:
    """Futures of candidates by the index of the row they took last, as far as they are known."""

    def __init__(self) -> None:
        self._known: dict[int, set[Any]] = {}
        self._tried: list[tuple[int, AbstractSet[Any]]] = []
        self._count = 0

    def at(self, index: int) -> set[Any]:
        """Return the futures after a row that come to nothing."""
        return self._known.get(index, _NONE)

    def tried(self, index: int, futures: AbstractSet[Any]) -> None:
        """Note what the open start has come to after a row."""
        self._tried.append((index, futures))

    def start_failed(self) -> None:
        """Keep what the open start has tried: without a match, and while there was time."""
        for index, futures in self._tried:
            self._count += len(futures)
            if self._count > _KEPT:
                self.start_ended()
                return
            self._known.setdefault(index, set()).update(futures)
        self._tried = []

    def start_ended(self) -> None:
        """Forget what has been tried: after a match more may hold than before."""
        self._known, self._tried, self._count = {}, [], 0

    def start_ran_out_of_time(self) -> None:
        """Forget what the open start has tried: those after it have more time."""
        self._tried = []


_NONE: Final[set[Any]] = set()

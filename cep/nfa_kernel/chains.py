"""From numbers of cells to the events behind them, for many finds at once.

last cells ──chained──► steps and events, find by find ──Chains──► FoundChains
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl

from cep.compiling import Ints, compiled, in_one_piece
from cep.nfa.chains import FoundChains
from cep.nfa_kernel import arrays as at


@compiled
def chained(cells: Ints, lasts: Ints) -> tuple[Ints, Ints, Ints]:
    """Return where the events of each find begin, their steps, and their numbers.

    Args:
        cells: all cells.
        lasts: the last cell of each find.
    """
    begin = np.empty(len(lasts) + 1, np.int64)
    count = 0
    for number in range(len(lasts)):
        begin[number] = count
        cell = lasts[number]
        while cell != at.NO_CELL:
            count += 1
            cell = cells[cell, at.CELL_PREVIOUS]
    begin[len(lasts)] = count
    steps = np.empty(count, np.int64)
    events = np.empty(count, np.int64)
    for number in range(len(lasts)):
        cell = lasts[number]
        place = begin[number + 1]
        while cell != at.NO_CELL:
            place -= 1
            steps[place] = cells[cell, at.CELL_STEP]
            events[place] = cells[cell, at.CELL_EVENT]
            cell = cells[cell, at.CELL_PREVIOUS]
    return begin, steps, events


class Chains:
    """The cells of a call.

    Args:
        cells: all of them.
        events_of: from numbers of events, ascending and each once, to those that are new, and after
            them those that keys have held.
    """

    def __init__(
        self,
        cells: Ints,
        events_of: Callable[[Ints], tuple[pl.DataFrame, Sequence[tuple[Any, ...]]]],
    ) -> None:
        self._cells = cells
        self._events_of = events_of

    def ending_with(self, lasts: Ints) -> FoundChains:
        """Return the events of the finds that end with these cells."""
        begin, steps, events = chained(self._cells, in_one_piece(lasts))
        different, places = np.unique(events, return_inverse=True)
        new, held = self._events_of(different)
        return FoundChains(begin.tolist(), steps.tolist(), places.tolist(), new, held)

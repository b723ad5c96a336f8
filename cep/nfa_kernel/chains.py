"""From numbers of cells to cells: only what a match or a partial match is made of becomes objects.

last cells ──reachable──► numbers, earlier cells first ──cells_of──► linked cells
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cep.compiling import Ints, compiled, in_one_piece
from cep.compiling.growing import with_places
from cep.nfa.runs import Cell
from cep.nfa_kernel import arrays as at


@compiled
def reachable(cells: Ints, lasts: Ints, seen: Ints, mark: int) -> Ints:
    """Return the cells behind some last ones, in order of their numbers.

    Args:
        cells: all cells.
        lasts: the last ones.
        seen: by cell, the mark it has been seen under.
        mark: a number that has not been used yet.
    """
    count = 0
    found = np.empty(64, np.int64)
    for last in lasts:
        cell = last
        while cell != at.NO_CELL and seen[cell] != mark:
            seen[cell] = mark
            found = with_places(found, count + 1)
            found[count] = cell
            count += 1
            cell = cells[cell, at.CELL_PREVIOUS]
    return np.sort(found[:count])


class Chains:
    """The cells of a call as objects.

    Args:
        cells: all of them.
        events_of: from numbers of events, ascending and each once, to the events.
    """

    def __init__(self, cells: Ints, events_of: Callable[[Ints], Sequence[Any]]) -> None:
        self._cells = cells
        self._events_of = events_of
        self._seen = np.zeros(len(cells), np.int64)
        self._mark = 0

    def ending_with(self, lasts: Ints) -> dict[int, Cell]:
        """Return the cells behind some last ones, by number."""
        self._mark += 1
        numbers = reachable(self._cells, in_one_piece(lasts), self._seen, self._mark)
        cells = self._cells[numbers]
        event_numbers = np.unique(cells[:, at.CELL_EVENT])
        events = dict(zip(event_numbers.tolist(), self._events_of(event_numbers), strict=True))
        built: dict[int, Cell] = {}
        for number, (previous, step, sequence, event) in zip(
            numbers.tolist(), cells.tolist(), strict=True
        ):
            before = None if previous == at.NO_CELL else built[previous]
            built[number] = (before, step, sequence, events[event], None)
        return built

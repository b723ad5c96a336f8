"""From numbers of cells to the events of their chains, for many finds at once.

last cells ──event_chains──► steps and events, find by find ──Chains──► ChainBlock of FoundChains
"""

from typing import Final

import numpy as np

from cep.compiling import Ints, compiled, in_one_piece
from cep.nfa.chains import ChainBlock, ChainColumns, EventsByNumber, FoundChains
from cep.nfa_kernel import arrays as at
from cep.number_order import ranked

_AT_ONCE: Final = 200_000
"""So many events of finds are laid out at a time as objects, of one find all."""
_IN_COLUMNS: Final = 800_000
"""So many at most are laid out in columns."""


@compiled
def event_chains(cells: Ints, lasts: Ints, most: int) -> tuple[Ints, Ints, Ints]:
    """Return where the events of each find begin, their steps, and their numbers.

    Args:
        cells: all cells.
        lasts: the last cell of each find.
        most: finds are left out at the end if they have more events together; the first is not.
    """
    begin = np.empty(len(lasts) + 1, np.int64)
    begin[0] = 0
    count, finds = 0, 0
    for last in lasts:
        cell = last
        while cell != at.NO_CELL:
            count += 1
            cell = cells[cell, at.CELL_PREVIOUS]
        if finds > 0 and count > most:
            break
        finds += 1
        begin[finds] = count
    steps = np.empty(begin[finds], np.int64)
    events = np.empty(begin[finds], np.int64)
    for number in range(finds):
        cell = lasts[number]
        place = begin[number + 1]
        while cell != at.NO_CELL:
            place -= 1
            steps[place] = cells[cell, at.CELL_STEP]
            events[place] = cells[cell, at.CELL_EVENT]
            cell = cells[cell, at.CELL_PREVIOUS]
    return begin[: finds + 1], steps, events


class Chains:
    """The cells of a call.

    Args:
        cells: all of them.
        by_number: their events.
    """

    def __init__(self, cells: Ints, by_number: EventsByNumber) -> None:
        self._cells = cells
        self._by_number = by_number

    def ending_with(self, lasts: Ints) -> FoundChains:
        """Return the finds that end with these cells."""
        lasts = in_one_piece(lasts)
        return FoundChains(lambda number: self._laid_out(lasts, number))

    def columns(self, lasts: Ints) -> ChainColumns:
        """Return the events of finds; of finds at the end none, if they have too many together."""
        return self._columns(lasts, _IN_COLUMNS)

    def _columns(self, lasts: Ints, most: int) -> ChainColumns:
        begin, steps, events = event_chains(self._cells, in_one_piece(lasts), most)
        return ChainColumns(begin, steps, events, self._by_number)

    def _laid_out(self, lasts: Ints, first: int) -> ChainBlock:
        begin, steps, events, _ = self._columns(lasts[first:], _AT_ONCE)
        different, places = ranked(events)
        new, held = self._by_number.at(different)
        return ChainBlock(first, begin.tolist(), steps.tolist(), places.tolist(), new, held)

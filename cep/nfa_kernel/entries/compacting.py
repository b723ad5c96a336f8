"""Compiled: of what keys hold, only that which something still refers to, key by key.

Cells and events are numbered for each key on its own, in the order in which `cep.nfa.codec` writes
them, so that equal states are equal bytes, independent of the writer.
"""

from typing import NamedTuple

import numpy as np

from cep.compiling import Ints, compiled
from cep.compiling.growing import with_places, with_room
from cep.nfa_kernel import arrays as at
from cep.nfa_kernel.arrays import KeyArrays


class Compacted(NamedTuple):
    """What is still referred to.

    Args:
        cells: their columns, numbers of cells and events being those within the key.
        cell_begin: where the cells of each key begin; one more at the end.
        events: the numbers of the events.
        event_begin: where the events of each key begin; one more at the end.
        run_cells: of each partial match, its last cell, numbered within the key.
        held_cells: of each match held back, its last cell.
    """

    cells: Ints
    cell_begin: Ints
    events: Ints
    event_begin: Ints
    run_cells: Ints
    held_cells: Ints


@compiled
def compacted(  # noqa: C901 - one call for all keys
    keys: KeyArrays, event_count: int
) -> Compacted:
    """Return what keys still refer to.

    Args:
        keys: the keys.
        event_count: more than any number of an event.
    """
    key_count = len(keys.sequences)
    before = keys.cells
    number_of = np.full(len(before), -1, np.int64)
    event_number_of = np.full(event_count, -1, np.int64)
    cells, cell_count = np.empty((len(keys.runs) + 64, at.CELL_WIDTH), np.int64), 0
    events, events_kept = np.empty(len(keys.runs) + 64, np.int64), 0
    cell_begin = np.zeros(key_count + 1, np.int64)
    event_begin = np.zeros(key_count + 1, np.int64)
    run_cells = np.empty(len(keys.runs), np.int64)
    held_cells = np.empty(len(keys.held_back), np.int64)
    for key in range(key_count):
        first_cell, first_event = cell_count, events_kept
        run_begin, run_end = keys.run_begin[key], keys.run_begin[key + 1]
        held_begin, held_end = 0, 0
        if keys.queue_begin[key] < keys.queue_begin[key + 1]:
            held_begin = keys.queues[keys.queue_begin[key], 1]
            held_end = keys.queues[keys.queue_begin[key + 1] - 1, 2]
        for turn in range(run_end - run_begin + held_end - held_begin):
            is_run = turn < run_end - run_begin
            if is_run:
                tip = keys.runs[run_begin + turn, at.RUN_CELL]
            else:
                tip = keys.held_back[held_begin + turn - (run_end - run_begin), 1]
            new = 0
            cell = tip
            while cell != at.NO_CELL and number_of[cell] < 0:
                new += 1
                cell = before[cell, at.CELL_PREVIOUS]
            cells = with_room(cells, cell_count + new)
            events = with_places(events, events_kept + new)
            cell = tip
            for place in range(cell_count + new - 1, cell_count - 1, -1):
                number_of[cell] = place - first_cell
                cells[place] = before[cell]
                cell = before[cell, at.CELL_PREVIOUS]
            for place in range(cell_count, cell_count + new):
                previous, event = cells[place, at.CELL_PREVIOUS], cells[place, at.CELL_EVENT]
                if previous != at.NO_CELL:
                    cells[place, at.CELL_PREVIOUS] = number_of[previous]
                if event_number_of[event] < 0:
                    event_number_of[event] = events_kept - first_event
                    events[events_kept] = event
                    events_kept += 1
                cells[place, at.CELL_EVENT] = event_number_of[event]
            cell_count += new
            if is_run:
                run_cells[run_begin + turn] = number_of[tip]
            else:
                held_cells[held_begin + turn - (run_end - run_begin)] = number_of[tip]
        cell_begin[key + 1], event_begin[key + 1] = cell_count, events_kept
    return Compacted(
        cells[:cell_count], cell_begin, events[:events_kept], event_begin, run_cells, held_cells
    )

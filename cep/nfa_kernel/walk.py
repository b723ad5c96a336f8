"""A walk of keys through a machine, in arrays that are large enough for what it brings.

    Tables, KeyEvents, KeyArrays ──room──► walk_keys ──► WalkResult

No array is made or made larger while compiled code walks: where a variable could be this array or
that one, numba counts who uses it, at each turn of a loop, and that takes longer than the turn.
"""

from typing import Final

import numpy as np

from cep.condition_code.arrays import Columns, Memory, Stack
from cep.condition_code.memory import new_memory
from cep.nfa_kernel import arrays as at
from cep.nfa_kernel import counting
from cep.nfa_kernel.arrays import (
    Counters,
    Current,
    KeyArrays,
    KeyEvents,
    Room,
    Tables,
    WalkResult,
    WrittenCounts,
)
from cep.nfa_kernel.key_walk import walk_keys

_MOST_RUNS: Final = 1_000_000
_MOST_NEW: Final = 8_000_000
_LEAST_ROOM: Final = 10_000
_QUEUES: Final = 256


def walk(  # noqa: PLR0913, PLR0917 - as `walk_keys`
    tables: Tables,
    events: KeyEvents,
    columns: Columns,
    keys: KeyArrays,
    stopped: int,
    counted: int,
    span_ms: tuple[int, int],
) -> WalkResult:
    """Do what `walk_keys` does, with as much room as it takes; the status is never `NO_ROOM`."""
    most_new = min(max(_LEAST_ROOM, 2 * len(events.order)), _MOST_NEW)
    while True:
        try:
            room = _room(tables, keys, len(events.begin) - 1, most_new)
            written = walk_keys(tables, events, columns, keys, stopped, counted, span_ms, room)
        except MemoryError:
            break
        if written.status == at.DONE:
            return _walked(room, written)
        if written.status == at.GAVE_UP or most_new == _MOST_NEW:
            break
        most_new = min(8 * most_new, _MOST_NEW)
    nothing = np.empty((0, at.FOUND_WIDTH), np.int64)
    return WalkResult(at.GAVE_UP, keys, nothing, nothing)


def _walked(room: Room, written: WrittenCounts) -> WalkResult:
    after = room.after
    keys = after._replace(
        runs=after.runs[: written.runs],
        queues=after.queues[: written.queues],
        held_back=after.held_back[: written.held_back],
        cells=after.cells[: written.cells],
    )
    return WalkResult(at.DONE, keys, room.found[: written.found], room.counters.counts)


def _room(tables: Tables, keys: KeyArrays, key_count: int, most_new: int) -> Room:
    """Return room for so many cells, finds, and partial matches at the end more than there are.

    The system has to give only what is written to; NumPy asks for it in large pages.
    """
    items = tables.residual.tests.items
    widths = len(items.rows), len(items.folds)
    places = len(keys.cells) + most_new + 1 if sum(widths) else 1
    memory = Memory(
        np.empty((places, 2 * sum(widths)), np.int64), np.empty((places, widths[1]), np.float64)
    )
    memory.whole[:1], memory.reals[:1] = new_memory(1, *widths)
    cells = np.empty((len(keys.cells) + most_new, at.CELL_WIDTH), np.int64)
    cells[: len(keys.cells)] = keys.cells
    after = KeyArrays(
        np.zeros(key_count, np.int64),
        np.zeros(key_count, np.int64),
        np.zeros(key_count + 1, np.int64),
        np.empty((len(keys.runs) + most_new, at.RUN_WIDTH), np.int64),
        np.zeros(key_count + 1, np.int64),
        np.empty((len(keys.queues) + most_new, 3), np.int64),
        np.empty((len(keys.held_back) + most_new, 2), np.int64),
        cells,
    )
    counts = np.zeros((tables.rule_count * tables.step_count, counting.COUNTS_WIDTH), np.int64)
    counts[:, counting.NEWEST_MS] = counting.NO_TIME
    pending = np.zeros((tables.step_count * counting.KINDS, counting.PENDING_WIDTH), np.int64)
    pending[:, counting.PENDING_NEWEST_MS] = counting.NO_TIME
    found = np.empty((most_new, at.FOUND_WIDTH), np.int64)
    counters = Counters(pending, counts, tables.step_count)
    return Room(after, found, counters, memory, _current(tables))


def _current(tables: Tables) -> Current:
    most_runs = min(tables.most_held, _MOST_RUNS) + 64
    deepest = len(tables.residual.tests.code) + 1
    return Current(
        np.empty((most_runs, at.RUN_WIDTH), np.int64),
        np.empty((most_runs, at.RUN_WIDTH), np.int64),
        np.empty((most_runs, 3), np.int64),
        np.empty((most_runs, 3), np.int64),
        np.empty((_QUEUES, 3), np.int64),
        np.empty((most_runs, 2), np.int64),
        np.empty((_QUEUES, 3), np.int64),
        np.empty((_QUEUES, 3), np.int64),
        np.empty((4 * most_runs, 2), np.int64),
        np.zeros((64, 2), np.int64),
        Stack(np.zeros(deepest, np.int64), np.zeros(deepest), np.zeros(deepest, np.bool_)),
    )

"""The state of keys as arrays, and back.

list of KeyRuns ──loaded──► KeyArrays ──walk──► KeyArrays ──restored──► list of KeyRuns
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cep.compiling import Ints, table
from cep.nfa.runs import (
    CELL_PREVIOUS,
    CELL_SEQUENCE,
    CELL_STEP,
    Cell,
    KeyRuns,
    cells_without_number,
)
from cep.nfa_kernel import arrays as at
from cep.nfa_kernel.arrays import KeyArrays


@dataclass(frozen=True, slots=True)
class LoadedKeys:
    """Keys as arrays; `cells` are those that the first of the arrays of cells stand for."""

    arrays: KeyArrays
    cells: Sequence[Cell]


def loaded(keys: Sequence[KeyRuns | None]) -> LoadedKeys:
    """Return the state of keys as arrays; `None` is a key that holds nothing."""
    numbers: dict[int, int] = {}
    cells: list[Cell] = []
    rows: list[tuple[int, int, int, int]] = []

    def number(tip: Cell) -> int:
        for one in reversed(cells_without_number(tip, numbers)):
            before = one[CELL_PREVIOUS]
            previous = at.NO_CELL if before is None else numbers[id(before)]
            numbers[id(one)] = len(cells)
            cells.append(one)
            rows.append((previous, one[CELL_STEP], one[CELL_SEQUENCE], at.NO_CELL))
        return numbers[id(tip)]

    runs: list[tuple[int, ...]] = []
    queues: list[tuple[int, int, int]] = []
    held_back: list[tuple[int, int]] = []
    counts: list[tuple[int, int]] = []
    begins = [(0, 0)]
    for key in keys:
        if key is not None:
            runs += [(*run[:-1], number(run[-1])) for run in key.runs]
            for rules, queue in key.waiting:
                begin = len(held_back)
                held_back += [(start, number(cell)) for start, cell in queue]
                queues.append((rules, begin, len(held_back)))
        counts.append((0, 0) if key is None else (key.sequence, key.events_bound))
        begins.append((len(runs), len(queues)))
    by_key, begin_of = table(counts, 2), table(begins, 2)
    arrays = KeyArrays(
        sequences=by_key[:, 0].copy(),
        event_counts=by_key[:, 1].copy(),
        run_begin=begin_of[:, 0].copy(),
        runs=table(runs, at.RUN_WIDTH),
        queue_begin=begin_of[:, 1].copy(),
        queues=table(queues, 3),
        held_back=table(held_back, 2),
        cells=table(rows, at.CELL_WIDTH),
    )
    return LoadedKeys(arrays, cells)


def tips(keys: KeyArrays) -> Ints:
    """Return the last cells of all that keys hold."""
    return np.concatenate([keys.runs[:, at.RUN_CELL], keys.held_back[:, 1]])


def restored(keys: KeyArrays, number: int, cells: dict[int, Cell], into: KeyRuns) -> None:
    """Put what a key holds into its state.

    Args:
        keys: the arrays.
        number: of the key.
        cells: the cells behind `tips`, by number.
        into: the state.
    """
    begin, end = int(keys.run_begin[number]), int(keys.run_begin[number + 1])
    into.runs = [(*run[:-1], cells[run[-1]]) for run in keys.runs[begin:end].tolist()]
    first, last = int(keys.queue_begin[number]), int(keys.queue_begin[number + 1])
    into.waiting = [
        (rules, [(start, cells[cell]) for start, cell in keys.held_back[begin:end].tolist()])
        for rules, begin, end in keys.queues[first:last].tolist()
    ]
    into.sequence = int(keys.sequences[number])
    into.events_bound = int(keys.event_counts[number])
    into.bound_rules()

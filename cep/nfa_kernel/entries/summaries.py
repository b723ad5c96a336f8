"""Compiled: summaries of many keys without objects: deadlines, and at which steps rules are.

    entries, parts of them ──summaries_of──► Summaries

Source: `cep.nfa.machine.Machine.next_deadline_ms`, `cep.nfa.runs.KeyRuns.open_steps`.
"""

from typing import Final, NamedTuple

import numpy as np

from cep.compiling import Ints, compiled
from cep.compiling.byte_copying import Bytes
from cep.nfa_kernel import arrays as at
from cep.nfa_kernel.entries.packed_values import MALFORMED, end_of, read_array, read_int
from cep.nfa_kernel.entries.reading import (
    PART_BEGIN,
    PART_END,
    PART_ENTRY,
    PART_SHAPE,
    read_rows,
    sequence_of,
)

NO_DEADLINE: Final = 2**62
_UNSOUND: Final = -(2**62)


class Summaries(NamedTuple):
    """What is known of entries without objects; `could` is whether all are well formed.

    Args:
        deadlines_ms: when the next window of each closes, `NO_DEADLINE` if none does.
        hold_back: whether finished matches wait in each.
        open_steps: by shape, rule and step of the last event, how many partial matches are open;
            where those of a shape begin is given.
    """

    deadlines_ms: Ints
    hold_back: Ints
    open_steps: Ints
    could: bool


class Windows(NamedTuple):
    """The windows of all shapes.

    Args:
        window_ms: of each shape, since the first event; 0 = none.
        state_begin: where the states of each shape begin in the next; one more at the end.
        previous_ms: of each state, since the event before, or `NO_WINDOW`.
        step_counts: of each shape, how many steps it has.
        open_begin: of each shape, where its rules and steps begin among those of all; one more.
    """

    window_ms: Ints
    state_begin: Ints
    previous_ms: Ints
    step_counts: Ints
    open_begin: Ints


@compiled
def summaries_of(
    data: Bytes, parts: Ints, entry_count: int, windows: Windows, kept: Ints
) -> Summaries:
    """Return what is known of entries.

    Args:
        data: where they are.
        parts: as of `parts_of`.
        entry_count: how many entries there are.
        windows: of the shapes.
        kept: of each shape, the rules of which anything is wanted, as bits.
    """
    deadlines_ms = np.full(entry_count, NO_DEADLINE, np.int64)
    hold_back = np.zeros(entry_count, np.int64)
    open_steps = np.zeros(windows.open_begin[-1], np.int64)
    could = True
    for part in parts:
        entry, shape = part[PART_ENTRY], part[PART_SHAPE]
        most = part[PART_END]
        _, place = sequence_of(data, part[PART_BEGIN], most)
        place = end_of(data, place, most) if place != MALFORMED else place
        cells, place = read_rows(data, place, most, at.CELL_WIDTH)
        runs, place = read_rows(data, place, most, at.RUN_WIDTH)
        if place != MALFORMED:
            hold_back[entry], place = _holds_back(data, place, most, hold_back[entry], kept[shape])
        due_ms = _summary_of(cells, runs, shape, windows, kept[shape], open_steps)
        if place != most or due_ms == _UNSOUND:
            could = False
            break
        deadlines_ms[entry] = min(deadlines_ms[entry], due_ms)
    return Summaries(deadlines_ms, hold_back, open_steps, could)


@compiled
def _summary_of(  # noqa: PLR0913, PLR0917 - compiled code takes arguments by place
    cells: Ints, runs: Ints, shape: int, windows: Windows, kept: int, open_steps: Ints
) -> int:
    """Count the partial matches of a key; return when its next window closes."""
    window_ms, step_count = windows.window_ms[shape], windows.step_counts[shape]
    first_state, state_end = windows.state_begin[shape], windows.state_begin[shape + 1]
    due_ms = NO_DEADLINE
    for run in runs:
        state, tip = first_state + run[at.RUN_STATE], run[at.RUN_CELL]
        if not (first_state <= state < state_end and 0 <= tip < len(cells)):
            return _UNSOUND
        step, rules = cells[tip, at.CELL_STEP], run[at.RUN_RULES]
        if not 0 <= step < step_count or rules <= 0:
            return _UNSOUND
        rules &= kept
        if not rules:
            continue
        if window_ms:
            due_ms = min(due_ms, run[at.RUN_START_MS] + window_ms)
        if windows.previous_ms[state] != at.NO_WINDOW:
            due_ms = min(due_ms, run[at.RUN_PREVIOUS_MS] + windows.previous_ms[state])
        counted = windows.open_begin[shape] + step
        while rules and counted < windows.open_begin[shape + 1]:
            open_steps[counted] += rules & 1
            rules >>= 1
            counted += step_count
    return due_ms


@compiled
def _holds_back(data: Bytes, place: int, most: int, before: int, kept: int) -> tuple[int, int]:
    """Return whether matches wait, before or here, and where they end."""
    queues, place = read_array(data, place, most)
    for _ in range(queues):
        _, place = read_array(data, place, most)
        rules, place = read_int(data, place, most) if place != MALFORMED else (0, place)
        place = end_of(data, place, most) if place != MALFORMED else place
        if place == MALFORMED:
            break
        before = max(before, int(rules & kept != 0))
    return before, place

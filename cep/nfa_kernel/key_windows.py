"""Compiled: the windows of one key that close, one due time after the other.

Source: `cep.nfa.machine.Machine.advance`, whose meaning it has.
"""

from typing import Final

from cep.compiling import Ints, in_caller, in_place
from cep.nfa_kernel import arrays as at
from cep.nfa_kernel import counting
from cep.nfa_kernel.arrays import Current, Held, Room, Tables
from cep.nfa_kernel.emitting import emit
from cep.nfa_kernel.queues import copy_run

_AFTER_ALL: Final = 2**62


@in_caller
def close_windows(  # noqa: PLR0913, PLR0917 - compiled code takes arguments by place
    tables: Tables, room: Room, held: Held, key: int, span_ms: tuple[int, int], counted: int
) -> Held:
    """Close what is due up to a time; return what is held then, and the status.

    Args:
        tables: the machine.
        room: what the key holds, and what is found.
        held: how much of it is used.
        key: whose.
        span_ms: the time up to which windows are closed already, and that up to which they close.
        counted: the rules whose timeouts are counted, and not among what is found.
    """
    before_ms, until_ms = span_ms
    while held.runs:
        due_ms = _next_due_ms(tables, room.current.runs, held.runs)
        if due_ms > until_ms:
            break
        first_found = held.found
        run_count, finished_count, late_count = _divide(tables, room.current, held.runs, due_ms)
        held = Held(at.DONE, run_count, held.queues, held.found)
        if finished_count or held.queues:
            held = emit(tables, room, held, finished_count, key, due_ms, at.NO_EVENT)
            if held.status != at.DONE:
                return held
        if held.found + late_count > len(room.found):
            return Held(at.NO_ROOM, 0, 0, 0)
        found_count = _report_late(room, held.found, late_count, key, counted)
        # What is over at the time of an event itself is emitted once time moves on.
        for number in range(first_found, found_count):
            room.found[number, at.FOUND_ORDER_MS] = max(due_ms, before_ms + 1)
        held = Held(at.DONE, held.runs, held.queues, found_count)
    return held


@in_caller
def _next_due_ms(tables: Tables, runs: Ints, run_count: int) -> int:
    due_ms = _AFTER_ALL
    if tables.has_previous_windows:
        for place in range(run_count):
            due_ms = min(due_ms, _deadline_ms(tables, runs, place))
    elif tables.window_ms:
        due_ms = runs[0, at.RUN_START_MS] + tables.window_ms
    return due_ms


@in_place
def _deadline_ms(tables: Tables, runs: Ints, place: int) -> int:
    deadline_ms = _AFTER_ALL
    if tables.window_ms:
        deadline_ms = runs[place, at.RUN_START_MS] + tables.window_ms
    previous_window_ms = tables.states[runs[place, at.RUN_STATE], 0]
    if previous_window_ms != at.NO_WINDOW:
        deadline_ms = min(deadline_ms, runs[place, at.RUN_PREVIOUS_MS] + previous_window_ms)
    return deadline_ms


@in_caller
def _divide(tables: Tables, current: Current, run_count: int, due_ms: int) -> tuple[int, int, int]:
    """Return how many partial matches go on, are finished and are late once a time is reached."""
    runs, states, finished, late = current.runs, tables.states, current.finished, current.late
    left, finished_count, late_count = 0, 0, 0
    for place in range(run_count):
        state = runs[place, at.RUN_STATE]
        if _deadline_ms(tables, runs, place) > due_ms:
            if left != place:
                copy_run(runs, place, runs, left)
            left += 1
        elif states[state, 1]:
            finished[finished_count, 0] = runs[place, at.RUN_RULES]
            finished[finished_count, 1] = runs[place, at.RUN_START]
            finished[finished_count, 2] = runs[place, at.RUN_CELL]
            finished_count += 1
        else:
            late[late_count, 0] = runs[place, at.RUN_RULES]
            late[late_count, 1] = runs[place, at.RUN_CELL]
            late[late_count, 2] = runs[place, at.RUN_START_MS] + tables.window_ms
            previous_ms = runs[place, at.RUN_PREVIOUS_MS] + states[state, 0]
            if states[state, 0] != at.NO_WINDOW and previous_ms <= due_ms:
                late[late_count, 2] = previous_ms
            late_count += 1
    return left, finished_count, late_count


@in_caller
def _report_late(room: Room, found_count: int, late_count: int, key: int, counted: int) -> int:
    """Add what is late to what is found, but what is counted only; return how many there are."""
    found, late = room.found, room.current.late
    for place in range(late_count):
        step = room.after.cells[late[place, 1], at.CELL_STEP]
        counting.count(room.counters, counting.TIMED_OUT, step, late[place, 0], counting.NO_TIME)
        rules = late[place, 0] & ~counted
        if not rules:
            continue
        found[found_count, at.FOUND_KEY] = key
        found[found_count, at.FOUND_RULES] = rules
        found[found_count, at.FOUND_CELL] = late[place, 1]
        found[found_count, at.FOUND_TIME_MS] = late[place, 2]
        found[found_count, at.FOUND_IS_TIMEOUT] = 1
        found[found_count, at.FOUND_EVENT] = at.NO_EVENT
        found_count += 1
    return found_count

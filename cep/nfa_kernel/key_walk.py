"""Compiled: the events of many keys through the partial matches of one machine, key after key.

    what a key holds ──key_windows.close_windows, key_moves.advance, emit──► what it holds then

Keys know nothing of each other, and windows close each at its own time, so that a key can be taken
to the end of the call in one go. What is found is put in order of time afterwards.

Source: `cep.nfa.machine.Machine.process` and `advance`, whose meaning it has.
"""

from cep.compiling import in_caller, in_place, inlined
from cep.condition_code.arrays import Columns
from cep.nfa_kernel import arrays as at
from cep.nfa_kernel import counting
from cep.nfa_kernel.arrays import (
    Current,
    Event,
    Held,
    KeyArrays,
    KeyEvents,
    Room,
    Tables,
    WrittenCounts,
)
from cep.nfa_kernel.emitting import emit
from cep.nfa_kernel.key_moves import advance, first_moved
from cep.nfa_kernel.key_windows import close_windows
from cep.nfa_kernel.queues import copy_row, copy_run
from cep.nfa_kernel.residuals import remember_cells


@in_place
def walk_keys(  # noqa: C901, PLR0911, PLR0912, PLR0913, PLR0917 - each step may end it
    tables: Tables,
    events: KeyEvents,
    columns: Columns,
    keys: KeyArrays,
    stopped: int,
    counted: int,
    span_ms: tuple[int, int],
    room: Room,
) -> WrittenCounts:
    """Move the keys by their events and close their windows up to a time.

    Args:
        tables: the machine.
        events: what comes.
        columns: what conditions read of the events, in the order of `events`, and after them of
            those that keys have held.
        keys: what the keys hold.
        stopped: the rules that start nothing any more, as bits.
        counted: the rules whose timeouts are counted, and not among what is found.
        span_ms: the time up to which windows are closed already, which no event is before, and how
            far time goes after the last event.
        room: what is written to; the status is `NO_ROOM` if it takes more.
    """
    items, current, cells = tables.residual.tests.items, room.current, room.after.cells
    written = WrittenCounts(at.DONE, len(keys.cells), 0, 0, 0, 0)
    remembers = len(items.rows) + len(items.folds) > 0
    behind = events.first_held - len(events.order)
    if remembers and not remember_cells(
        items, columns, room.memory, cells, 0, written.cells, behind
    ):
        return _ended(at.GAVE_UP)
    for key in range(len(events.begin) - 1):
        sequence, event_count = keys.sequences[key], keys.event_counts[key]
        held, cell_count = _load(keys, key, current, written.found), written.cells
        if held.status != at.DONE:
            return _ended(held.status)
        before_ms = span_ms[0]
        for turn in range(events.begin[key], events.begin[key + 1] + 1):
            is_end = turn == events.begin[key + 1]
            time_ms = span_ms[1] if is_end else events.times_ms[turn]
            if held.runs and time_ms > before_ms:
                held = close_windows(tables, room, held, key, (before_ms, time_ms), counted)
                if held.status != at.DONE:
                    return _ended(held.status)
                if not held.runs and not held.queues:
                    sequence, event_count = 0, 0
            if is_end:
                break
            before_ms = time_ms
            event = Event(turn, events.order[turn], events.kinds[turn], time_ms, sequence)
            first = first_moved(tables, current.runs, held.runs, event.kind)
            if not tables.starts[event.kind, 0] and first == held.runs:
                continue
            event_count += 1
            if event_count > tables.most_events:
                return _ended(at.GAVE_UP)
            starting = tables.starts[event.kind, 1] & ~stopped
            moves = advance(tables, columns, room, event, first, held.runs, cell_count, starting)
            if moves.status != at.DONE:
                return _ended(moves.status)
            if remembers and not remember_cells(
                items, columns, room.memory, cells, cell_count, moves.cells, event.number - turn
            ):
                return _ended(at.GAVE_UP)
            cell_count = moves.cells
            held = Held(at.DONE, first + moves.moved, held.queues, held.found)
            if _is_too_much(tables, current, held):
                return _ended(at.GAVE_UP)
            for place in range(moves.moved):
                copy_run(current.moved, place, current.runs, first + place)
            sequence += 1
            if moves.finished or held.queues:
                held = emit(tables, room, held, moves.finished, key, time_ms, event.number)
                if held.status != at.DONE:
                    return _ended(held.status)
            if not held.runs and not held.queues:
                sequence, event_count = 0, 0
        room.after.sequences[key], room.after.event_counts[key] = sequence, event_count
        written = _store(room, key, held, cell_count, written)
        if written.status != at.DONE:
            return written
    counting.spread_all(room.counters)
    return written


@inlined
def _ended(status: int) -> WrittenCounts:
    return WrittenCounts(status, 0, 0, 0, 0, 0)


@in_caller
def _load(keys: KeyArrays, key: int, current: Current, found_count: int) -> Held:
    """Copy what a key holds to where it changes."""
    most_runs = len(current.runs)
    queue_count, held_count = 0, 0
    for number in range(keys.queue_begin[key], keys.queue_begin[key + 1]):
        first, last = keys.queues[number, 1], keys.queues[number, 2]
        if queue_count == len(current.queues) or held_count + last - first > most_runs:
            return Held(at.GAVE_UP, 0, 0, 0)
        current.queues[queue_count, 0] = keys.queues[number, 0]
        current.queues[queue_count, 1] = held_count
        current.queues[queue_count, 2] = last - first
        for place in range(first, last):
            copy_row(keys.held_back, place, current.held_back, held_count + place - first)
        held_count += last - first
        queue_count += 1
    begin = keys.run_begin[key]
    run_count = keys.run_begin[key + 1] - begin
    if run_count > most_runs:
        return Held(at.GAVE_UP, 0, 0, 0)
    for place in range(run_count):
        copy_run(keys.runs, begin + place, current.runs, place)
    return Held(at.DONE, run_count, queue_count, found_count)


@in_caller
def _is_too_much(tables: Tables, current: Current, held: Held) -> bool:
    count = held.runs
    for number in range(held.queues):
        count += current.queues[number, 2]
    return count > tables.most_held or count > len(current.runs)


@in_caller
def _store(
    room: Room, key: int, held: Held, cell_count: int, before: WrittenCounts
) -> WrittenCounts:
    """Write what a key holds behind that of those before it."""
    after, current = room.after, room.current
    _, _, _, run_count, queue_count, held_count = before
    if run_count + held.runs > len(after.runs) or queue_count + held.queues > len(after.queues):
        return _ended(at.NO_ROOM)
    for place in range(held.runs):
        copy_run(current.runs, place, after.runs, run_count + place)
    run_count += held.runs
    after.run_begin[key + 1] = run_count
    for number in range(held.queues):
        first, count = current.queues[number, 1], current.queues[number, 2]
        if held_count + count > len(after.held_back):
            return _ended(at.NO_ROOM)
        for place in range(count):
            copy_row(current.held_back, first + place, after.held_back, held_count + place)
        after.queues[queue_count, 0] = current.queues[number, 0]
        after.queues[queue_count, 1] = held_count
        after.queues[queue_count, 2] = held_count + count
        held_count += count
        queue_count += 1
    after.queue_begin[key + 1] = queue_count
    return WrittenCounts(at.DONE, cell_count, held.found, run_count, queue_count, held_count)

"""Compiled: what is written of many keys, as arrays, without an object for any of it.

    entries ──parts_of──► what each shape holds of each key ──states_of──► KeyArrays

An entry is what `cep.keyed.key_state` writes of a key: for each shape that holds something its
number and what `cep.nfa.codec.runs_payload` returns. Events are not looked into.
"""

from typing import Final, NamedTuple

import numpy as np

from cep.compiling import Ints, compiled
from cep.compiling.byte_copying import Bytes
from cep.compiling.growing import with_room
from cep.nfa_kernel import arrays as at
from cep.nfa_kernel.arrays import KeyArrays
from cep.nfa_kernel.entries.packed_values import MALFORMED, TRUE, end_of, read_array, read_int

PART_ENTRY: Final = 0
PART_SHAPE: Final = 1
PART_BEGIN: Final = 2
PART_END: Final = 3
PART_WIDTH: Final = 4

GONE: Final = -1
NO_SHAPE: Final = -2

_PAYLOAD_PARTS: Final = 6
_QUEUE_PARTS: Final = 2
_HELD_WIDTH: Final = 2


class States(NamedTuple):
    """What keys hold, the begin and end of each of their events; `is_well_formed`: of all."""

    keys: KeyArrays
    events: Ints
    is_well_formed: bool


@compiled
def parts_of(data: Bytes, spans: Ints, layouts: Ints, numbers: Ints) -> tuple[Ints, bool]:
    """Return what each shape holds of each key, and whether all entries are well formed.

    Args:
        data: where the entries are.
        spans: begin and end of each; where both are equal the key holds nothing.
        layouts: under which layout each was written.
        numbers: by layout and number of a shape in it, its number now; `NO_SHAPE` if there is none,
            `GONE` if there is none any more.

    Rows are entry, shape, begin and end of a payload.
    """
    parts, count = np.empty((len(spans) + 64, PART_WIDTH), np.int64), 0
    for entry in range(len(spans)):
        place, most = spans[entry, 0], spans[entry, 1]
        if place == most:
            continue
        shapes, place = read_array(data, place, most)
        if place == MALFORMED:
            return parts, False
        parts = with_room(parts, count + shapes)
        for _ in range(shapes):
            width, place = read_array(data, place, most)
            if place == MALFORMED or width != 2:  # noqa: PLR2004 - a number and a payload
                return parts, False
            written, place = read_int(data, place, most)
            if place == MALFORMED or not 0 <= written < numbers.shape[1]:
                return parts, False
            shape, end = numbers[layouts[entry], written], end_of(data, place, most)
            if end == MALFORMED or shape == NO_SHAPE:
                return parts, False
            if shape != GONE:
                parts[count, PART_ENTRY], parts[count, PART_SHAPE] = entry, shape
                parts[count, PART_BEGIN], parts[count, PART_END] = place, end
                count += 1
            place = end
        if place != most:
            return parts, False
    return parts[:count], True


@compiled
def states_of(data: Bytes, spans: Ints, first_event: int, kept: int) -> States:
    """Return payloads as the arrays that a walk takes.

    Args:
        data: where they are.
        spans: begin and end of each; where both are equal the key holds nothing.
        first_event: the number of the first of their events.
        kept: the rules of which anything is wanted, as bits.
    """
    count = len(spans)
    sequences, event_counts = np.zeros(count, np.int64), np.zeros(count, np.int64)
    run_begin, queue_begin = np.zeros(count + 1, np.int64), np.zeros(count + 1, np.int64)
    runs, run_count = np.empty((2 * count + 64, at.RUN_WIDTH), np.int64), 0
    cells, cell_count = np.empty((4 * count + 64, at.CELL_WIDTH), np.int64), 0
    events, event_count = np.empty((4 * count + 64, 2), np.int64), 0
    queues, queue_count = np.empty((64, 3), np.int64), 0
    held_back, held_count = np.empty((64, _HELD_WIDTH), np.int64), 0
    could = True
    for key in range(count):
        run_begin[key], queue_begin[key] = run_count, queue_count
        place, most = spans[key, 0], spans[key, 1]
        if place == most:
            continue
        first_cell, before = cell_count, event_count
        sequences[key], place = sequence_of(data, place, most)
        events, event_count, place = _read_events(data, place, most, events, event_count)
        event_counts[key] = event_count - before
        cells, cell_count, place = _read_cells(
            data, place, most, cells, cell_count, first_event + before, event_count - before
        )
        runs, run_count, place = _read_runs(
            data, place, most, runs, run_count, first_cell, cell_count, kept
        )
        queues, queue_count, held_back, held_count, place = _read_queues(
            data, place, most, queues, queue_count, held_back, held_count, first_cell, cell_count,
            kept,
        )  # fmt: skip
        if place != most:
            could = False
            break
    run_begin[count], queue_begin[count] = run_count, queue_count
    keys = KeyArrays(
        sequences,
        event_counts,
        run_begin,
        runs[:run_count],
        queue_begin,
        queues[:queue_count],
        held_back[:held_count],
        cells[:cell_count],
    )
    return States(keys, events[:event_count], could)


@compiled
def sequence_of(data: Bytes, place: int, most: int) -> tuple[int, int]:
    """Return the number of the next event, and where the events are: after that they are tuples."""
    width, place = read_array(data, place, most)
    if place == MALFORMED or width != _PAYLOAD_PARTS:
        return 0, MALFORMED
    sequence, place = read_int(data, place, most)
    if place == MALFORMED or place >= most or data[place] != TRUE:
        return 0, MALFORMED
    return sequence, place + 1


@compiled
def _read_events(
    data: Bytes, place: int, most: int, events: Ints, count: int
) -> tuple[Ints, int, int]:
    """Add where each event begins and ends; return how many there are, and where they end."""
    if place == MALFORMED:
        return events, count, place
    size, place = read_array(data, place, most)
    events = with_room(events, count + size)
    for _ in range(size):
        end = end_of(data, place, most)
        if end == MALFORMED:
            return events, count, MALFORMED
        events[count, 0], events[count, 1] = place, end
        count += 1
        place = end
    return events, count, place


@compiled
def _read_cells(  # noqa: PLR0913, PLR0917 - compiled code takes arguments by place
    data: Bytes,
    place: int,
    most: int,
    cells: Ints,
    count: int,
    first_event: int,
    event_count: int,
) -> tuple[Ints, int, int]:
    """Add the cells of a key; return how many there are, and where they end."""
    rows, place = read_rows(data, place, most, at.CELL_WIDTH)
    if place == MALFORMED:
        return cells, count, place
    cells = with_room(cells, count + len(rows))
    cells[count : count + len(rows)] = rows
    for number in range(len(rows)):
        previous, event = rows[number, at.CELL_PREVIOUS], rows[number, at.CELL_EVENT]
        if previous >= number or not 0 <= event < event_count:
            return cells, count, MALFORMED
        cells[count + number, at.CELL_PREVIOUS] = at.NO_CELL if previous < 0 else previous + count
        cells[count + number, at.CELL_EVENT] = first_event + event
    return cells, count + len(rows), place


@compiled
def _read_runs(  # noqa: PLR0913, PLR0917 - compiled code takes arguments by place
    data: Bytes,
    place: int,
    most: int,
    runs: Ints,
    count: int,
    first_cell: int,
    cell_end: int,
    kept: int,
) -> tuple[Ints, int, int]:
    """Add the partial matches of a key; return how many there are, and where they end."""
    rows, place = read_rows(data, place, most, at.RUN_WIDTH)
    if place == MALFORMED:
        return runs, count, place
    runs = with_room(runs, count + len(rows))
    for row in rows:
        row[at.RUN_CELL] += first_cell
        if not first_cell <= row[at.RUN_CELL] < cell_end or row[at.RUN_RULES] <= 0:
            return runs, count, MALFORMED
        row[at.RUN_RULES] &= kept
        if row[at.RUN_RULES]:
            runs[count] = row
            count += 1
    return runs, count, place


@compiled
def _read_queues(  # noqa: PLR0913, PLR0917 - compiled code takes arguments by place
    data: Bytes,
    place: int,
    most: int,
    queues: Ints,
    count: int,
    held_back: Ints,
    held_count: int,
    first_cell: int,
    cell_end: int,
    kept: int,
) -> tuple[Ints, int, Ints, int, int]:
    """Add the matches held back of a key; return how many queues and matches there are, and end."""
    size, place = read_array(data, place, most) if place != MALFORMED else (0, place)
    queues = with_room(queues, count + size)
    for _ in range(size):
        width, place = read_array(data, place, most)
        rules, place = read_int(data, place, most) if place != MALFORMED else (0, place)
        rows, place = read_rows(data, place, most, _HELD_WIDTH)
        if place == MALFORMED or width != _QUEUE_PARTS or rules < 0:
            return queues, count, held_back, held_count, MALFORMED
        rows[:, 1] += first_cell
        for row in rows:
            if not first_cell <= row[1] < cell_end:
                return queues, count, held_back, held_count, MALFORMED
        if not rules & kept:
            continue
        held_back = with_room(held_back, held_count + len(rows))
        held_back[held_count : held_count + len(rows)] = rows
        queues[count, 0], queues[count, 1] = rules & kept, held_count
        held_count += len(rows)
        queues[count, 2] = held_count
        count += 1
    return queues, count, held_back, held_count, place


@compiled
def read_rows(data: Bytes, place: int, most: int, width: int) -> tuple[Ints, int]:
    """Return a flat list of integers as rows, and where it ends."""
    size, place = read_array(data, place, most) if place != MALFORMED else (0, place)
    if place == MALFORMED or size % width:
        return np.empty((0, width), np.int64), MALFORMED
    rows = np.empty((size // width, width), np.int64)
    for row in range(size // width):
        for column in range(width):
            rows[row, column], place = read_int(data, place, most)
            if place == MALFORMED:
                return rows, place
    return rows, place


@compiled
def spans_of(data: Bytes) -> Ints:
    """Return where each value of an array begins and ends; none if it is malformed."""
    count, place = read_array(data, 0, len(data))
    spans = np.empty((count, 2), np.int64)
    for number in range(count):
        end = end_of(data, place, len(data))
        if end == MALFORMED:
            return spans[:0]
        spans[number, 0], spans[number, 1] = place, end
        place = end
    return spans

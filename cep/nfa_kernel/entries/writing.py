"""Compiled: what many keys hold, as the bytes that are kept of it.

    KeyArrays ──compacted──► payloads_of ──► payloads ─┐
    entries as they were ──what has not been touched───┴──entries_of──► entries

The bytes are those that `cep.keyed.key_state` writes of the same state.
"""

from typing import Final

import numpy as np

from cep.compiling import Ints, compiled
from cep.compiling.byte_copying import Bytes, copy_bytes
from cep.compiling.growing import with_places
from cep.nfa_kernel import arrays as at
from cep.nfa_kernel.arrays import KeyArrays
from cep.nfa_kernel.entries.compacting import Compacted
from cep.nfa_kernel.entries.packed_values import (
    MOST_BYTES_OF_NUMBER,
    MOST_BYTES_OF_SIZE,
    TRUE,
    write_array,
    write_int,
)

PIECE_ENTRY: Final = 0
PIECE_SHAPE: Final = 1
PIECE_IS_NEW: Final = 2
PIECE_BEGIN: Final = 3
PIECE_END: Final = 4
PIECE_WIDTH: Final = 5

_MOST_BYTES_BESIDE: Final = 64
"""More than a payload takes beside its events, cells, runs and queues."""


@compiled
def payloads_of(  # noqa: C901 - one pass over all keys
    keys: KeyArrays, kept: Compacted, before: Bytes, new: Bytes, events: Ints
) -> tuple[Bytes, Ints]:
    """Return payloads, one after the other, and where each begins; one more at the end.

    A key that holds nothing has no bytes.

    Args:
        keys: the keys.
        kept: what they refer to.
        before: where events are that keys have held.
        new: where the others are.
        events: of each event in `kept` whether it is in `new`, where it begins, and where it ends.
    """
    key_count = len(keys.sequences)
    written, place = np.empty(1_024, np.uint8), 0
    begins = np.zeros(key_count + 1, np.int64)
    for key in range(key_count):
        begins[key] = place
        first_run, run_end = keys.run_begin[key], keys.run_begin[key + 1]
        first_queue, queue_end = keys.queue_begin[key], keys.queue_begin[key + 1]
        if first_run == run_end and first_queue == queue_end:
            continue
        first_cell, cell_end = kept.cell_begin[key], kept.cell_begin[key + 1]
        first_event, event_end = kept.event_begin[key], kept.event_begin[key + 1]
        numbers = (cell_end - first_cell) * at.CELL_WIDTH + (run_end - first_run) * at.RUN_WIDTH
        size = _MOST_BYTES_BESIDE
        for number in range(first_queue, queue_end):
            numbers += 1 + 2 * (keys.queues[number, 2] - keys.queues[number, 1])
            size += 2 * MOST_BYTES_OF_SIZE
        size += numbers * MOST_BYTES_OF_NUMBER
        for number in range(first_event, event_end):
            size += events[number, 2] - events[number, 1]
        written = with_places(written, place + size)

        place = write_array(written, place, 6)
        place = write_int(written, place, keys.sequences[key])
        written[place] = TRUE
        place = write_array(written, place + 1, event_end - first_event)
        for number in range(first_event, event_end):
            source = new if events[number, 0] else before
            place = copy_bytes(source, events[number, 1], events[number, 2], written, place)
        place = write_array(written, place, (cell_end - first_cell) * at.CELL_WIDTH)
        for number in range(first_cell, cell_end):
            for column in range(at.CELL_WIDTH):
                place = write_int(written, place, kept.cells[number, column])
        place = write_array(written, place, (run_end - first_run) * at.RUN_WIDTH)
        for number in range(first_run, run_end):
            for column in range(at.RUN_CELL):
                place = write_int(written, place, keys.runs[number, column])
            place = write_int(written, place, kept.run_cells[number])
        place = write_array(written, place, queue_end - first_queue)
        for number in range(first_queue, queue_end):
            first_held, held_end = keys.queues[number, 1], keys.queues[number, 2]
            place = write_array(written, place, 2)
            place = write_int(written, place, keys.queues[number, 0])
            place = write_array(written, place, 2 * (held_end - first_held))
            for held in range(first_held, held_end):
                place = write_int(written, place, keys.held_back[held, 0])
                place = write_int(written, place, kept.held_cells[held])
    begins[key_count] = place
    return written[:place], begins


@compiled
def list_of(data: Bytes, spans: Ints) -> Bytes:
    """Return a list of values, given where each is: to read them at once takes half as long."""
    size = MOST_BYTES_OF_SIZE
    for number in range(len(spans)):
        size += spans[number, 1] - spans[number, 0]
    written = np.empty(size, np.uint8)
    place = write_array(written, 0, len(spans))
    for number in range(len(spans)):
        place = copy_bytes(data, spans[number, 0], spans[number, 1], written, place)
    return written[:place]


@compiled
def entries_of(
    pieces: Ints, entry_count: int, before: Bytes, new: Bytes
) -> tuple[Bytes, Ints, Ints]:
    """Return entries, one after the other, where each begins (one more at the end), and its parts.

    Those without a piece have no bytes. Parts are as of `reading.parts_of`.

    Args:
        pieces: entry, shape, whether it is in `new`, begin and end of a payload; in this order.
        entry_count: how many entries there are.
        before: where the payloads are that are as they were.
        new: where the others are.
    """
    size = 0
    for piece in pieces:
        size += piece[PIECE_END] - piece[PIECE_BEGIN]
        size += 2 * MOST_BYTES_OF_SIZE + MOST_BYTES_OF_NUMBER
    written, place = np.empty(size, np.uint8), 0
    begins = np.zeros(entry_count + 1, np.int64)
    parts = np.empty((len(pieces), 4), np.int64)
    first = 0
    for entry in range(entry_count):
        begins[entry] = place
        last = first
        while last < len(pieces) and pieces[last, PIECE_ENTRY] == entry:
            last += 1
        if last > first:
            place = write_array(written, place, last - first)
        for number in range(first, last):
            piece = pieces[number]
            place = write_array(written, place, 2)
            place = write_int(written, place, piece[PIECE_SHAPE])
            parts[number, 0], parts[number, 1], parts[number, 2] = entry, piece[PIECE_SHAPE], place
            source = new if piece[PIECE_IS_NEW] else before
            place = copy_bytes(source, piece[PIECE_BEGIN], piece[PIECE_END], written, place)
            parts[number, 3] = place
        first = last
    begins[entry_count] = place
    return written[:place], begins, parts

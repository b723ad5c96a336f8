"""Compiled: many buckets of keys, from the bytes that a store keeps of each to rows and back.

    buckets ──rows_of──► a row for each key ──places_of──► the rows of some keys
                         rows in order of buckets ──buckets_of──► buckets

A bucket is a list of five: keys, deadlines, layouts, entries, and which hold matches back; of the
third and the fifth one value where all have the same. Entries are not looked into.

Source: `processor_runtime.state.key_bucket`, whose bytes these are.
"""

from typing import Final, NamedTuple

import numpy as np

from cep.compiling import Ints, compiled, in_place
from cep.compiling.growing import with_room
from cep.nfa_kernel.byte_copying import Bytes
from cep.nfa_kernel.entry_summaries import NO_DEADLINE
from cep.nfa_kernel.packed_values import (
    FALSE,
    MALFORMED,
    MOST_BYTES_OF_NUMBER,
    MOST_BYTES_OF_SIZE,
    NULL,
    TRUE,
    read_array,
    read_bytes,
    read_int,
    with_bytes,
    write_array,
    write_bytes,
    write_int,
)

ROW_BUCKET: Final = 0
ROW_DEADLINE_MS: Final = 1
ROW_LAYOUT: Final = 2
ROW_HOLDS_BACK: Final = 3
ROW_KEY_IS_NEW: Final = 4
ROW_KEY_BEGIN: Final = 5
ROW_KEY_END: Final = 6
ROW_IS_NEW: Final = 7
ROW_BEGIN: Final = 8
ROW_END: Final = 9
ROW_WIDTH: Final = 10

NO_ROW: Final = -1
_PARTS: Final = 5


class BucketRows(NamedTuple):
    """The keys of some buckets; `could` is whether all are well formed.

    Args:
        rows: of each key its bucket's number, its deadline (or `NO_DEADLINE`), its layout, whether
            it holds matches back, where its bytes begin and end, and its entry; bucket by bucket.
        first: where the rows of each bucket begin; one more at the end.
    """

    rows: Ints
    first: Ints
    could: bool


@compiled
def rows_of(data: Bytes, begins: Ints, numbers: Ints) -> BucketRows:
    """Return the keys of buckets.

    Args:
        data: the buckets, one after the other.
        begins: where each begins; one more at the end.
        numbers: what each is called in the rows.
    """
    rows, count = np.zeros((64 + 32 * len(numbers), ROW_WIDTH), np.int64), 0
    first = np.zeros(len(numbers) + 1, np.int64)
    for bucket in range(len(numbers)):
        first[bucket] = count
        place, most = begins[bucket], begins[bucket + 1]
        parts, place = read_array(data, place, most)
        keys, place = read_array(data, place, most) if place != MALFORMED else (0, place)
        if place == MALFORMED or parts != _PARTS:
            return BucketRows(rows, first, False)  # noqa: FBT003 - compiled code takes no keywords
        rows = with_room(rows, count + keys)
        of_bucket = rows[count : count + keys]
        of_bucket[:] = 0
        of_bucket[:, ROW_BUCKET] = numbers[bucket]
        place = _read_spans(data, place, most, of_bucket, ROW_KEY_BEGIN)
        place = _read_deadlines(data, place, most, of_bucket)
        place = _read_layouts(data, place, most, of_bucket)
        entries, place = read_array(data, place, most) if place != MALFORMED else (0, place)
        if place == MALFORMED or entries != keys:
            return BucketRows(rows, first, False)  # noqa: FBT003 - as above
        place = _read_spans(data, place, most, of_bucket, ROW_BEGIN)
        place = _read_flags(data, place, most, of_bucket)
        if place != most:
            return BucketRows(rows, first, False)  # noqa: FBT003 - as above
        count += keys
    first[-1] = count
    return BucketRows(rows[:count], first, True)  # noqa: FBT003 - as above


@in_place
def _read_spans(data: Bytes, place: int, most: int, rows: Ints, column: int) -> int:
    """Read where as many bytes as there are rows begin and end; return where the last do."""
    for row in range(len(rows)):
        if place == MALFORMED:
            break
        rows[row, column], place = read_bytes(data, place, most)
        rows[row, column + 1] = place
    return place


@in_place
def _read_deadlines(data: Bytes, place: int, most: int, rows: Ints) -> int:
    count, place = read_array(data, place, most) if place != MALFORMED else (0, place)
    if place == MALFORMED or count != len(rows):
        return MALFORMED
    for row in range(len(rows)):
        deadline_ms = NO_DEADLINE
        if place < most and data[place] == NULL:
            place += 1
        else:
            deadline_ms, place = read_int(data, place, most)
            if place == MALFORMED or deadline_ms >= NO_DEADLINE:
                return MALFORMED
        rows[row, ROW_DEADLINE_MS] = deadline_ms
    return place


@in_place
def _read_layouts(data: Bytes, place: int, most: int, rows: Ints) -> int:
    if place == MALFORMED:
        return place
    count, values = read_array(data, place, most)
    if values == MALFORMED:
        layout, place = read_int(data, place, most)
        for row in range(len(rows)):
            rows[row, ROW_LAYOUT] = layout
        return place
    if count != len(rows):
        return MALFORMED
    place = values
    for row in range(len(rows)):
        if place == MALFORMED:
            break
        rows[row, ROW_LAYOUT], place = read_int(data, place, most)
    return place


@in_place
def _read_flags(data: Bytes, place: int, most: int, rows: Ints) -> int:
    if place == MALFORMED:
        return place
    count, values = read_array(data, place, most)
    is_one = values == MALFORMED
    if not is_one and count != len(rows):
        return MALFORMED
    place = place if is_one else values
    for row in range(1 if is_one else len(rows)):
        if place >= most or not FALSE <= data[place] <= TRUE:
            return MALFORMED
        if is_one:
            for every in range(len(rows)):
                rows[every, ROW_HOLDS_BACK] = data[place] == TRUE
        else:
            rows[row, ROW_HOLDS_BACK] = data[place] == TRUE
        place += 1
    return place


@compiled
def places_of(  # noqa: PLR0913, PLR0917 - compiled code takes arguments by place
    data: Bytes, rows: Ints, first: Ints, keys: Bytes, spans: Ints, buckets: Ints
) -> Ints:
    """Return the row of each key, `NO_ROW` if there is none.

    Args:
        data: where the keys of the rows are.
        rows: see `BucketRows`.
        first: see `BucketRows`.
        keys: where the keys are that are looked for.
        spans: begin and end of each.
        buckets: the place in `first` of the bucket of each; -1 if it is not there.
    """
    places = np.full(len(spans), NO_ROW, np.int64)
    for number in range(len(spans)):
        bucket = buckets[number]
        if bucket < 0:
            continue
        end, size = spans[number, 1], spans[number, 1] - spans[number, 0]
        for row in range(first[bucket], first[bucket + 1]):
            row_end = rows[row, ROW_KEY_END]
            if row_end - rows[row, ROW_KEY_BEGIN] != size:
                continue
            left = size  # they differ at the end, mostly
            while left > 0 and data[row_end - 1 - size + left] == keys[end - 1 - size + left]:
                left -= 1
            if left == 0:
                places[number] = row
                break
    return places


@compiled
def buckets_of(
    rows: Ints, first: Ints, before: Bytes, keys: Bytes, entries: Bytes
) -> tuple[Bytes, Ints]:
    """Return buckets, one after the other, and where each begins; one more at the end.

    Args:
        rows: see `BucketRows`. Where it says so the key is a new one, and the entry.
        first: where the rows of each bucket begin; one more at the end.
        before: where keys and entries are that are not new.
        keys: where new keys are.
        entries: where new entries are.
    """
    written, place = np.empty(1_024, np.uint8), 0
    begins = np.zeros(len(first), np.int64)
    for bucket in range(len(first) - 1):
        begins[bucket] = place
        of_bucket = rows[first[bucket] : first[bucket + 1]]
        count = len(of_bucket)
        size = (_PARTS + 2 * count) * MOST_BYTES_OF_SIZE + count * (2 * MOST_BYTES_OF_NUMBER + 1)
        for row in of_bucket:
            size += row[ROW_KEY_END] - row[ROW_KEY_BEGIN] + row[ROW_END] - row[ROW_BEGIN]
        written = with_bytes(written, place + size + MOST_BYTES_OF_NUMBER)
        place = write_array(written, place, _PARTS)
        place = write_array(written, place, count)
        for row in of_bucket:
            source = keys if row[ROW_KEY_IS_NEW] else before
            place = write_bytes(written, place, source, row[ROW_KEY_BEGIN], row[ROW_KEY_END])
        place = _write_numbers(written, place, of_bucket)
        place = write_array(written, place, count)
        for row in of_bucket:
            source = entries if row[ROW_IS_NEW] else before
            place = write_bytes(written, place, source, row[ROW_BEGIN], row[ROW_END])
        is_one = _is_one(of_bucket, ROW_HOLDS_BACK)
        if not is_one:
            place = write_array(written, place, count)
        for row in of_bucket[:1] if is_one else of_bucket:
            written[place] = TRUE if row[ROW_HOLDS_BACK] else FALSE
            place += 1
    begins[-1] = place
    return written[:place], begins


@in_place
def _write_numbers(written: Bytes, place: int, rows: Ints) -> int:
    """Write deadlines, then layouts."""
    place = write_array(written, place, len(rows))
    for row in range(len(rows)):
        if rows[row, ROW_DEADLINE_MS] >= NO_DEADLINE:
            written[place] = NULL
            place += 1
        else:
            place = write_int(written, place, rows[row, ROW_DEADLINE_MS])
    if _is_one(rows, ROW_LAYOUT):
        return write_int(written, place, rows[0, ROW_LAYOUT])
    place = write_array(written, place, len(rows))
    for row in range(len(rows)):
        place = write_int(written, place, rows[row, ROW_LAYOUT])
    return place


@in_place
def _is_one(rows: Ints, column: int) -> bool:
    """Return whether all rows have the same value, of which one is written."""
    for row in range(len(rows)):
        if rows[row, column] != rows[0, column]:
            return False
    return len(rows) > 0

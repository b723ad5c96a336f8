"""The keys of a batch in columns, with all that is in their buckets: no object for any key.

    keys as bytes, windows due ──take_keys──► KeyColumns ──matcher──► what keys hold now ──► state

The same as `key_buckets` does key by key, for batches that compiled code runs: buckets are read as
bytes, and written so. They may hold their keys in another order then, which says nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cep.compiling import Ints
from cep.nfa.codec import pack_values
from cep.nfa_kernel import bucket_rows as at
from cep.nfa_kernel.bucket_rows import BucketRows, buckets_of, places_of, rows_of
from cep.nfa_kernel.byte_copying import Bytes
from cep.nfa_kernel.entry_reading import spans_of
from cep.nfa_kernel.entry_summaries import NO_DEADLINE
from cep.number_order import stable_order
from processor_runtime.rows.key_hashing import key_hashes
from processor_runtime.state.bucket_count import emptied_and_filled, next_count
from processor_runtime.state.bucket_index import NEVER, BucketIndex, Flags
from processor_runtime.state.key_bucket import (
    bucket_name,
    content_of,
    encode_bucket,
    parts_of,
    stored,
)
from processor_runtime.state.keyed_state import KeyedState

_PLACES: Final = [at.ROW_KEY_BEGIN, at.ROW_KEY_END, at.ROW_BEGIN, at.ROW_END]


@dataclass(frozen=True, slots=True)
class PackedKeys:
    """Keys as bytes: begin and end of each in `data`."""

    data: Bytes
    spans: Ints


def packed_keys(keys: Sequence[tuple[Any, ...]]) -> PackedKeys:
    """Return keys as `key_bytes` writes each.

    Raises:
        StateEncodingError: a value is of a type that has no encoding.
    """
    data = np.frombuffer(pack_values([list(key) for key in keys]), np.uint8)
    return PackedKeys(data, spans_of(data))


@dataclass(frozen=True, slots=True)
class KeptEntries:
    """What keys hold after a batch, in their order; those without bytes hold nothing.

    Args:
        data: their entries, one after the other.
        begins: where each begins; one more at the end.
        deadlines_ms: when the next window of each closes, or `NO_DEADLINE`.
        hold_back: whether finished matches wait in it.
    """

    data: Bytes
    begins: Ints
    deadlines_ms: Ints
    hold_back: Ints


@dataclass(frozen=True, slots=True)
class BucketPlace:
    """Where the buckets of a selector group are: its id, its state in the shard, its index."""

    group: str
    state: KeyedState
    index: BucketIndex

    def hashes(self, keys: PackedKeys) -> NDArray[np.uint64]:
        """Return the hashes of keys."""
        data = keys.data.data
        return key_hashes(self.group, (data[begin:end] for begin, end in keys.spans.tolist()))

    def read(self, numbers: Sequence[int]) -> tuple[bytes, BucketRows]:
        """Return buckets that have keys, one after the other, and their rows.

        Raises:
            LookupError: the state lacks one.
            StateEncodingError: one is corrupt.
        """
        contents = [content_of(data) for data in stored(self.state, numbers)]
        joined = b"".join(contents)
        begins = np.cumsum([0, *map(len, contents)], dtype=np.int64)
        return joined, rows_of(np.frombuffer(joined, np.uint8), begins, np.array(numbers, np.int64))


@dataclass(slots=True)
class KeyColumns:
    """The keys of a batch, those of events first, and the buckets that they are in.

    Args:
        place: where buckets are; its index is changed by `save`.
        new: the keys of events.
        numbers: the bucket of each of these.
        joined: the buckets that were read, one after the other.
        rows: their rows, see `BucketRows`.
        places: of each key of the batch its row, or `NO_ROW`.
    """

    place: BucketPlace
    new: PackedKeys
    numbers: Ints
    joined: bytes
    rows: Ints
    places: Ints

    def __len__(self) -> int:
        """Return how many keys the batch has."""
        return len(self.places)

    def key(self, number: int) -> bytes:
        """Return a key."""
        if number < len(self.numbers):
            begin, end = self.new.spans[number].tolist()
            return self.new.data[begin:end].tobytes()
        row = self.rows[self.places[number]]
        return self.joined[int(row[at.ROW_KEY_BEGIN]) : int(row[at.ROW_KEY_END])]

    def entries(self) -> tuple[Ints, Ints]:
        """Return begin and end in `joined` of what each key holds, and the layout of that."""
        spans = np.zeros((len(self), 2), np.int64)
        layouts = np.zeros(len(self), np.int64)
        known = self.places != at.NO_ROW
        rows = self.rows[self.places[known]]
        spans[known] = rows[:, at.ROW_BEGIN : at.ROW_END + 1]
        layouts[known] = rows[:, at.ROW_LAYOUT]
        return spans, layouts

    def due(self, until_ms: int) -> Flags:
        """Return of which keys windows close up to a time."""
        flags = np.zeros(len(self), np.bool_)
        known = self.places != at.NO_ROW
        flags[known] = self.rows[self.places[known], at.ROW_DEADLINE_MS] <= until_ms
        return flags

    def save(self, kept: KeptEntries, layout: int) -> None:
        """Write what keys hold now, and keep the index true.

        Args:
            kept: what they hold.
            layout: the number of the layout it is written under.
        """
        known, has = self.places != at.NO_ROW, kept.begins[1:] > kept.begins[:-1]
        added, replaced = np.flatnonzero(has & ~known), np.flatnonzero(has & known)
        rows = self.rows
        _hold(rows, self.places[replaced], kept, replaced, layout)
        new = np.zeros((len(added), at.ROW_WIDTH), np.int64)
        new[:, at.ROW_BUCKET] = self.numbers[added]
        new[:, at.ROW_KEY_IS_NEW] = 1
        new[:, at.ROW_KEY_BEGIN : at.ROW_KEY_END + 1] = self.new.spans[added]
        _hold(new, np.arange(len(added)), kept, added, layout)
        index = self.place.index
        is_changed = np.zeros(len(index), np.bool_)
        is_changed[rows[self.places[known], at.ROW_BUCKET]] = True
        is_changed[self.numbers[added]] = True
        is_kept = np.ones(len(rows), np.bool_)
        is_kept[self.places[known & ~has]] = False
        rows = np.concatenate([rows[is_kept], new])
        counts = np.bincount(rows[:, at.ROW_BUCKET], minlength=len(index))
        index.keys[is_changed] = counts[is_changed]
        if not is_changed.any():
            return
        wanted = next_count(int(index.keys.sum()), len(index), int((known | has).sum()))
        if wanted != len(index):
            rows, is_changed = self._resized(rows, is_changed, wanted)
        self._write(rows, is_changed, kept.data)

    def _resized(self, rows: Ints, is_changed: Flags, count: int) -> tuple[Ints, Flags]:
        """Have this many buckets; return rows with their buckets then, and which are changed.

        There remain as many as there were if only Python can read what would be moved.
        """
        place, index = self.place, self.place.index
        before = len(index)
        emptied, filled = emptied_and_filled(index.keys, count)
        there = set(np.unique(rows[:, at.ROW_BUCKET]).tolist())
        more = sorted(number for number in (emptied | filled) - there if index.keys[number])
        if more:
            joined, read = place.read(more)
            if not read.could:
                return rows, is_changed
            read.rows[:, _PLACES] += len(self.joined)
            self.joined += joined
            rows = np.concatenate([rows, read.rows])
        is_moved = np.zeros(before, np.bool_)
        is_moved[list(emptied)] = True
        moved = np.flatnonzero(is_moved[rows[:, at.ROW_BUCKET]])
        gone = (np.flatnonzero(index.sizes_bytes[count:]) + count).tolist()
        place.state.put_many(dict.fromkeys(map(bucket_name, gone)))
        index.resize(count)
        rows[moved, at.ROW_BUCKET] = index.places(self._hashes(rows[moved]))
        is_written = np.zeros(max(before, count), np.bool_)
        is_written[:before] = is_changed | is_moved
        is_written[rows[moved, at.ROW_BUCKET]] = True
        return rows, is_written[:count]

    def _hashes(self, rows: Ints) -> NDArray[np.uint64]:
        hashes = np.empty(len(rows), np.uint64)
        is_new = rows[:, at.ROW_KEY_IS_NEW] != 0
        spans = np.ascontiguousarray(rows[:, at.ROW_KEY_BEGIN : at.ROW_KEY_END + 1])
        before = np.frombuffer(self.joined, np.uint8)
        hashes[is_new] = self.place.hashes(PackedKeys(self.new.data, spans[is_new]))
        hashes[~is_new] = self.place.hashes(PackedKeys(before, spans[~is_new]))
        return hashes

    def _write(self, rows: Ints, is_changed: Flags, entries: Bytes) -> None:
        state, index = self.place.state, self.place.index
        rows = rows[is_changed[rows[:, at.ROW_BUCKET]]]
        rows = rows[stable_order(rows[:, at.ROW_BUCKET])]
        numbers, first = np.unique(rows[:, at.ROW_BUCKET], return_index=True)
        bounds = np.append(first, len(rows)).astype(np.int64)
        is_changed[numbers] = False
        emptied = np.flatnonzero(is_changed).tolist()
        for part in parts_of(emptied):
            state.put_many(dict.fromkeys(map(bucket_name, part)))
        index.empty(emptied)
        before = np.frombuffer(self.joined, np.uint8)
        sizes: list[int] = []
        for some in parts_of(numbers.tolist()):
            of_some = bounds[len(sizes) : len(sizes) + len(some) + 1]
            data, begins = buckets_of(
                rows[of_some[0] : of_some[-1]],
                of_some - of_some[0],
                before,
                self.new.data,
                entries,
            )
            joined, places = data.tobytes(), begins.tolist()
            changes = {
                bucket_name(number): encode_bucket(joined[first:last])
                for number, first, last in zip(some, places, places[1:], strict=False)
            }
            sizes += map(len, changes.values())
            state.put_many(changes)
        if not len(numbers):
            return
        deadlines_ms = np.minimum.reduceat(rows[:, at.ROW_DEADLINE_MS], first)
        deadlines_ms[deadlines_ms >= NO_DEADLINE] = NEVER
        index.deadlines_ms[numbers] = deadlines_ms
        index.oldest_layouts[numbers] = np.minimum.reduceat(rows[:, at.ROW_LAYOUT], first)
        index.keys[numbers] = np.diff(bounds)
        index.sizes_bytes[numbers] = sizes
        index.hold_back[numbers] = np.maximum.reduceat(rows[:, at.ROW_HOLDS_BACK], first) != 0


def take_keys(
    place: BucketPlace, keys: PackedKeys, due_ms: int, older_than_layout: int, sweep: int
) -> KeyColumns | None:
    """Return keys with what is kept of them, and others: see `KeyBuckets.take`.

    `None` if something that is kept can only be read by Python.

    Raises:
        LookupError: the state lacks a bucket.
        StateEncodingError: a bucket is corrupt.
    """
    index = place.index
    numbers = index.places(place.hashes(keys))
    is_due, is_swept = index.due(due_ms), index.to_sweep(older_than_layout, sweep)
    is_wanted = is_due | is_swept
    is_wanted[numbers] = True
    touched = np.flatnonzero(is_wanted & (index.keys > 0))
    joined, read = place.read(touched.tolist())
    if not read.could:
        return None
    of_touched = np.full(len(index), -1, np.int64)
    of_touched[touched] = np.arange(len(touched))
    data = np.frombuffer(joined, np.uint8)
    places = places_of(data, read.rows, read.first, keys.data, keys.spans, of_touched[numbers])
    buckets = read.rows[:, at.ROW_BUCKET]
    is_other = is_due[buckets] & (read.rows[:, at.ROW_DEADLINE_MS] <= due_ms)
    is_other |= is_swept[buckets] & (read.rows[:, at.ROW_LAYOUT] < older_than_layout)
    is_other[places[places != at.NO_ROW]] = False
    places = np.concatenate([places, np.flatnonzero(is_other)])
    return KeyColumns(place, keys, numbers, joined, read.rows, places)


def _hold(rows: Ints, places: Ints, kept: KeptEntries, keys: Ints, layout: int) -> None:
    """Let rows hold what some keys do now."""
    rows[places, at.ROW_DEADLINE_MS] = kept.deadlines_ms[keys]
    rows[places, at.ROW_LAYOUT] = layout
    rows[places, at.ROW_HOLDS_BACK] = kept.hold_back[keys]
    rows[places, at.ROW_IS_NEW] = 1
    rows[places, at.ROW_BEGIN] = kept.begins[keys]
    rows[places, at.ROW_END] = kept.begins[keys + 1]

"""Keys of one selector group and shard, in buckets and in columns: no object for any key.

    keys with events, windows due ──take_keys──► BatchKeys ──matcher──► HeldEntries ──save──► state

A bucket holds some dozens of keys by hash. A batch reads and writes the buckets that it touches,
hundreds at once; the index of buckets says where windows are due, so that no scan over all keys is
needed. What a key holds is not looked into.

A bucket is 64-bit integers, lowest byte first: how many keys it has; for each its hash, its
deadline, its layout with the flag that it holds matches back, and the sizes of its bytes and of its
entry. Then come the bytes of all keys, those of all entries, and zeros up to a whole integer.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from cep.nfa.codec import sealed, unsealed
from cep.nfa.errors import StateEncodingError
from cep.number_order import stable_order
from processor_runtime.rows.key_hashing import key_hashes
from processor_runtime.state.bucket_count import emptied_and_filled, next_count
from processor_runtime.state.bucket_index import NEVER, BucketIndex, Flags, Numbers
from processor_runtime.state.compression import compressed, uncompressed
from processor_runtime.state.keyed_state import KeyedState

AlsoTaken = Literal["none", "holding back", "all"]
"""Keys that a batch may want beside its own: those in which finished matches wait, or all."""

_TOGETHER: Final = 1_024
"""How many buckets are read or written at once."""
_WORD_BYTES: Final = 8
_WORDS_PER_KEY: Final = 4

# The columns of rows; places are those of the bytes of a key, and of its entry, in some buffer.
_BUCKET, _HASH, _DEADLINE_MS, _LAYOUT, _HOLDS_BACK, _KEY, _KEY_END, _ENTRY, _ENTRY_END = range(9)
_PLACES: Final = slice(_KEY, _ENTRY_END + 1)
_NO_ROW: Final = -1


@dataclass(frozen=True, slots=True)
class PackedKeys:
    """Keys as bytes, one after the other; `borders` is where each begins, and the end."""

    data: bytes
    borders: Sequence[int]

    @classmethod
    def of(cls, keys: Iterable[bytes]) -> "PackedKeys":
        """Return some keys, in their order."""
        each = list(keys)
        return cls(b"".join(each), [0, *accumulate(map(len, each))])

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.borders) - 1

    def __getitem__(self, number: int) -> bytes:
        """Return one of them."""
        return self.data[self.borders[number] : self.borders[number + 1]]


@dataclass(frozen=True, slots=True)
class HeldEntries:
    """What keys hold after a batch, in their order; those without bytes hold nothing.

    `begins`: where each begins; one more at the end. `deadlines_ms`: when the next window of each
    closes, or `NEVER`. `hold_back`: whether finished matches wait in it.
    """

    data: bytes
    begins: Numbers
    deadlines_ms: Numbers
    hold_back: Flags


@dataclass(frozen=True, slots=True)
class KeyPlace:
    """Where the keys of a selector group are: its id, its state in the shard, its index."""

    group: str
    state: KeyedState
    index: BucketIndex

    def read(self, numbers: Sequence[int]) -> tuple[bytes, Numbers]:
        """Return buckets that have keys as one buffer, and a row for each key, bucket by bucket.

        Raises:
            LookupError: the state lacks one.
            StateEncodingError: one is corrupt.
        """
        if not numbers:
            return b"", np.empty((0, _ENTRY_END + 1), np.int64)
        contents = [unsealed(uncompressed(data)) for data in self._stored(numbers)]
        data = b"".join(contents)
        if any(len(content) % _WORD_BYTES or not content for content in contents):
            raise StateEncodingError("the encoded state is corrupt: a bucket is cut off")
        borders = np.cumsum([0, *map(len, contents)], dtype=np.int64)
        return data, _rows_of(data, borders, np.array(numbers, np.int64))

    def write(self, rows: Numbers, data: bytes) -> dict[int, int]:
        """Write buckets of these rows, which are in order of buckets; return the bytes of each."""
        numbers, first = np.unique(rows[:, _BUCKET], return_index=True)
        sizes: dict[int, int] = {}
        bounds = [*first.tolist(), len(rows)]
        for begin in range(0, len(numbers), _TOGETHER):
            some = numbers[begin : begin + _TOGETHER].tolist()
            of_some = np.array(bounds[begin : begin + len(some) + 1])
            contents = _contents_of(rows[of_some[0] : of_some[-1]], of_some - of_some[0], data)
            written = [compressed(sealed(content)) for content in contents]
            self.state.put_many(dict(zip(map(bucket_name, some), written, strict=True)))
            sizes |= zip(some, map(len, written), strict=True)
        return sizes

    def delete(self, numbers: Sequence[int]) -> None:
        """Delete buckets."""
        for begin in range(0, len(numbers), _TOGETHER):
            names = map(bucket_name, numbers[begin : begin + _TOGETHER])
            self.state.put_many(dict.fromkeys(names))

    def _stored(self, numbers: Sequence[int]) -> Iterator[bytes]:
        for begin in range(0, len(numbers), _TOGETHER):
            part = numbers[begin : begin + _TOGETHER]
            found = self.state.get_many(list(map(bucket_name, part)))
            for number, data in zip(part, found, strict=True):
                if data is None:
                    raise LookupError(f"the state has lost the bucket {number} of its keys")
                yield data


@dataclass(slots=True)
class BatchKeys:
    """The keys of a batch, those that were asked for first, and the buckets that they are in.

    `place`: where keys are; its index is changed by `save`. `places`: of each key of the batch its
    row, or `_NO_ROW`.
    """

    place: KeyPlace
    wanted: PackedKeys
    hashes: NDArray[np.uint64]
    data: bytes
    rows: Numbers
    places: Numbers

    def __len__(self) -> int:
        """Return how many keys the batch has."""
        return len(self.places)

    def key(self, number: int) -> bytes:
        """Return a key."""
        if number < len(self.wanted):
            return self.wanted[number]
        begin, end = self.rows[self.places[number], [_KEY, _KEY_END]].tolist()
        return self.data[begin:end]

    def entries(self) -> tuple[Numbers, Numbers]:
        """Return begin and end in `data` of what each key holds, and the layout of that.

        Where a key holds nothing, both are 0.
        """
        spans = np.zeros((len(self), 2), np.int64)
        layouts = np.zeros(len(self), np.int64)
        known = self.places != _NO_ROW
        rows = self.rows[self.places[known]]
        spans[known] = rows[:, [_ENTRY, _ENTRY_END]]
        layouts[known] = rows[:, _LAYOUT]
        return spans, layouts

    def due(self, until_ms: int) -> Flags:
        """Return of which keys windows close up to a time."""
        flags = np.zeros(len(self), np.bool_)
        known = self.places != _NO_ROW
        deadlines_ms = self.rows[self.places[known], _DEADLINE_MS]
        flags[known] = deadlines_ms <= min(until_ms, NEVER - 1)
        return flags

    def save(self, held: HeldEntries, layout: int) -> None:
        """Write what keys hold now, and keep the index true.

        `layout`: the number of the layout it is written under.
        """
        index = self.place.index
        known, has = self.places != _NO_ROW, held.begins[1:] > held.begins[:-1]
        added, replaced = np.flatnonzero(has & ~known), np.flatnonzero(has & known)
        data = b"".join((self.data, self.wanted.data, held.data))
        first_key, first_entry = len(self.data), len(self.data) + len(self.wanted.data)
        rows = self.rows.copy()
        new = np.empty((len(added), _ENTRY_END + 1), np.int64)
        new[:, _HASH] = self.hashes[added].view(np.int64)
        new[:, _BUCKET] = index.places(self.hashes[added])
        borders = np.array(self.wanted.borders, np.int64) + first_key
        new[:, _KEY], new[:, _KEY_END] = borders[added], borders[added + 1]
        for of, at, keys in (rows, self.places[replaced], replaced), (new, slice(None), added):
            of[at, _DEADLINE_MS] = held.deadlines_ms[keys]
            of[at, _LAYOUT], of[at, _HOLDS_BACK] = layout, held.hold_back[keys]
            of[at, _ENTRY] = held.begins[keys] + first_entry
            of[at, _ENTRY_END] = held.begins[keys + 1] + first_entry
        is_changed = np.zeros(len(index), np.bool_)
        is_changed[rows[self.places[known], _BUCKET]] = True
        is_changed[new[:, _BUCKET]] = True
        if not is_changed.any():
            return
        is_kept = np.ones(len(rows), np.bool_)
        is_kept[self.places[known & ~has]] = False
        rows = np.concatenate([rows[is_kept], new])
        counts = np.bincount(rows[:, _BUCKET], minlength=len(index))
        index.keys[is_changed] = counts[is_changed]
        count = next_count(index.key_count, len(index), int((known | has).sum()))
        if count != len(index):
            data, rows, is_changed = self._resized(data, rows, is_changed, count)
        self._write(data, rows, is_changed)

    def _resized(
        self, data: bytes, rows: Numbers, is_changed: Flags, count: int
    ) -> tuple[bytes, Numbers, Flags]:
        """Have this many buckets; return the rows with their buckets then, and which changed."""
        place, index = self.place, self.place.index
        before = len(index)
        emptied, filled = emptied_and_filled(index.keys, count)
        there = set(np.unique(rows[:, _BUCKET]).tolist())
        more = sorted(number for number in (emptied | filled) - there if index.keys[number])
        if more:
            read, others = place.read(more)
            others[:, _PLACES] += len(data)
            data, rows = data + read, np.concatenate([rows, others])
        is_moved = np.zeros(before, np.bool_)
        is_moved[list(emptied)] = True
        moved = np.flatnonzero(is_moved[rows[:, _BUCKET]])
        place.delete((np.flatnonzero(index.sizes_bytes[count:]) + count).tolist())
        index.resize(count)
        rows[moved, _BUCKET] = index.places(rows[moved, _HASH].view(np.uint64))
        is_written = np.zeros(max(before, count), np.bool_)
        is_written[:before] = is_changed | is_moved
        is_written[rows[moved, _BUCKET]] = True
        return data, rows, is_written[:count]

    def _write(self, data: bytes, rows: Numbers, is_changed: Flags) -> None:
        place, index = self.place, self.place.index
        rows = rows[is_changed[rows[:, _BUCKET]]]
        rows = rows[stable_order(rows[:, _BUCKET])]
        numbers, first = np.unique(rows[:, _BUCKET], return_index=True)
        is_changed[numbers] = False
        emptied = np.flatnonzero(is_changed).tolist()
        place.delete(emptied)
        index.clear(emptied)
        if not len(numbers):
            return
        sizes = place.write(rows, data)
        index.sizes_bytes[numbers] = [sizes[number] for number in numbers.tolist()]
        index.keys[numbers] = np.diff([*first, len(rows)])
        index.deadlines_ms[numbers] = np.minimum.reduceat(rows[:, _DEADLINE_MS], first)
        index.oldest_layouts[numbers] = np.minimum.reduceat(rows[:, _LAYOUT], first)
        index.hold_back[numbers] = np.maximum.reduceat(rows[:, _HOLDS_BACK], first) != 0


def take_keys(  # noqa: PLR0913 - what a batch wants
    place: KeyPlace,
    keys: PackedKeys,
    due_ms: int,
    *,
    older_than_layout: int,
    sweep: int,
    also: AlsoTaken = "none",
) -> BatchKeys:
    """Return some keys, those with windows due, and some with old layouts.

    `keys`: the keys with events in this batch, each once. `due_ms`: windows are due up to here.
    `older_than_layout`: keys that were written under older layouts are included, a few buckets at a
    time, so that the state of removed rules is freed eventually. `sweep`: the largest number of
    buckets for that. `also`: keys that are included beside these.

    Raises:
        LookupError: the state lacks a bucket.
        StateEncodingError: a bucket is corrupt.
    """
    index = place.index
    view = memoryview(keys.data)
    hashes = key_hashes(place.group, (view[begin:end] for begin, end in pairwise(keys.borders)))
    is_due, is_swept = index.due(due_ms), index.to_sweep(older_than_layout, sweep)
    is_held = index.hold_back & (also == "holding back")
    is_touched = is_due | is_swept | is_held | (also == "all")
    is_touched[index.places(hashes)] = True
    data, rows = place.read(np.flatnonzero(is_touched & (index.keys > 0)).tolist())
    places = _places_of(keys, hashes, data, rows)
    buckets = rows[:, _BUCKET]
    is_other = is_due[buckets] & (rows[:, _DEADLINE_MS] <= min(due_ms, NEVER - 1))
    is_other |= is_swept[buckets] & (rows[:, _LAYOUT] < older_than_layout)
    is_other |= is_held[buckets] & (rows[:, _HOLDS_BACK] != 0)
    is_other |= also == "all"
    is_other[places[places != _NO_ROW]] = False
    places = np.concatenate([places, np.flatnonzero(is_other)])
    return BatchKeys(place, keys, hashes, data, rows, places)


def bucket_name(number: int) -> str:
    """Return the name under which a bucket is in the state of its group."""
    return f"b{number}"


def _places_of(keys: PackedKeys, hashes: NDArray[np.uint64], data: bytes, rows: Numbers) -> Numbers:
    """Return the row of each key, `_NO_ROW` if there is none."""
    places = np.full(len(keys), _NO_ROW, np.int64)
    order = np.argsort(hashes, kind="stable")
    of_rows = rows[:, _HASH].view(np.uint64)
    first, last = (np.searchsorted(hashes[order], of_rows, side) for side in ("left", "right"))
    alike = np.flatnonzero(first < last)
    begins, ends = rows[alike, _KEY].tolist(), rows[alike, _KEY_END].tolist()
    candidates = zip(alike.tolist(), begins, ends, first[alike], last[alike], strict=True)
    for row, begin, end, from_place, to_place in candidates:
        # Several keys may have one hash, if somebody is after that.
        for number in order[from_place:to_place].tolist():
            if data[begin:end] == keys[number]:
                places[number] = row
    return places


def _rows_of(data: bytes, borders: Numbers, numbers: Numbers) -> Numbers:
    """Return the rows of buckets that stand one after the other.

    `borders`: where each begins, and the end.

    Raises:
        StateEncodingError: one is corrupt.
    """
    words = np.frombuffer(data, "<i8")
    begins = borders[:-1] // _WORD_BYTES
    counts = words[begins]
    header_end = borders[:-1] + _WORD_BYTES * (1 + _WORDS_PER_KEY * counts)
    if ((counts < 0) | (header_end > borders[1:])).any():
        raise StateEncodingError("the encoded state is corrupt: a bucket is cut off")
    of_row = np.repeat(np.arange(len(numbers)), counts)
    first = np.cumsum([0, *counts[:-1]])
    within = np.arange(len(of_row)) - first[of_row]
    at = begins[of_row] + 1 + _WORDS_PER_KEY * within
    rows = np.empty((len(of_row), _ENTRY_END + 1), np.int64)
    rows[:, _BUCKET] = numbers[of_row]
    rows[:, _HASH], rows[:, _DEADLINE_MS] = words[at], words[at + 1]
    rows[:, _LAYOUT], rows[:, _HOLDS_BACK] = words[at + 2] >> 1, words[at + 2] & 1
    sizes = np.stack([words[at + 3] >> 32, words[at + 3] & 0xFFFF_FFFF])
    # Where bytes end, counted from those of the first key of all buckets; then of each.
    ends = np.concatenate([np.zeros((2, 1), np.int64), np.cumsum(sizes, axis=1)], axis=1)
    keys_size, entries_size = np.diff(ends[:, np.append(first, len(of_row))], axis=1)
    padding = borders[1:] - header_end - keys_size - entries_size
    if (sizes < 0).any() or ((padding < 0) | (padding >= _WORD_BYTES)).any():
        raise StateEncodingError("the encoded state is corrupt: a bucket is cut off")
    shift_keys = header_end - ends[0, first]
    shift_entries = header_end + keys_size - ends[1, first]
    rows[:, _KEY], rows[:, _KEY_END] = ends[0, :-1], ends[0, 1:]
    rows[:, _ENTRY], rows[:, _ENTRY_END] = ends[1, :-1], ends[1, 1:]
    rows[:, [_KEY, _KEY_END]] += shift_keys[of_row, None]
    rows[:, [_ENTRY, _ENTRY_END]] += shift_entries[of_row, None]
    return rows


def _contents_of(rows: Numbers, first: Numbers, data: bytes) -> Iterator[bytes]:
    """Yield buckets as bytes.

    Args:
        rows: of all, bucket by bucket.
        first: where the rows of each begin; one more at the end.
        data: where the bytes of keys and entries are.
    """
    counts = np.diff(first)
    of_row = np.repeat(np.arange(len(counts)), counts)
    words = np.empty(len(rows) * _WORDS_PER_KEY + len(counts), "<i8")
    begins = first[:-1] * _WORDS_PER_KEY + np.arange(len(counts))
    words[begins] = counts
    at = np.arange(len(rows)) * _WORDS_PER_KEY + of_row + 1
    words[at], words[at + 1] = rows[:, _HASH], rows[:, _DEADLINE_MS]
    words[at + 2] = rows[:, _LAYOUT] << 1 | rows[:, _HOLDS_BACK]
    key_sizes, entry_sizes = (
        rows[:, end] - rows[:, begin] for begin, end in ((_KEY, _KEY_END), (_ENTRY, _ENTRY_END))
    )
    words[at + 3] = key_sizes << 32 | entry_sizes
    # In each bucket all keys, then all entries. What lies side by side is copied at once.
    spans = np.empty((2 * len(rows), 2), np.int64)
    of_key = np.arange(len(rows)) + first[of_row]
    spans[of_key] = rows[:, [_KEY, _KEY_END]]
    spans[of_key + counts[of_row]] = rows[:, [_ENTRY, _ENTRY_END]]
    begins_piece = np.ones(len(spans), np.bool_)
    begins_piece[1:] = spans[1:, 0] != spans[:-1, 1]
    begins_piece[2 * first[:-1]] = True
    pieces = np.flatnonzero(begins_piece)
    ends = spans[np.append(pieces[1:], len(spans)) - 1, 1].tolist()
    slices = list(map(slice, spans[pieces, 0].tolist(), ends))
    of_bucket = np.searchsorted(pieces, 2 * first).tolist()
    header, view = words.tobytes(), memoryview(data)
    borders = [*(begins * _WORD_BYTES).tolist(), len(header)]
    total = np.bincount(of_row, key_sizes + entry_sizes, len(counts)).astype(np.int64)
    padding = (-total % _WORD_BYTES).tolist()
    for number, (begin, end) in enumerate(pairwise(borders)):
        of_data = map(view.__getitem__, slices[of_bucket[number] : of_bucket[number + 1]])
        yield b"".join((header[begin:end], *of_data, bytes(padding[number])))

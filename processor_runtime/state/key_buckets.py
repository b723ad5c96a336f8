"""Keys of one selector group and shard, in buckets: few state accesses, and only where needed.

    keys of this batch, windows due ──take──► encoded keys ──matcher──► put ──save──► state

A bucket holds some dozens of keys by hash, each encoded on its own. A batch reads and writes the
buckets it touches, hundreds at once, and decodes the keys it touches. The index of buckets says
where windows are due, so that no scan over all keys is needed.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from processor_runtime.rows.key_hashing import key_hash
from processor_runtime.state.bucket_count import emptied_and_filled, next_count
from processor_runtime.state.bucket_index import NEVER, BucketIndex
from processor_runtime.state.key_bucket import (
    KeyBucket,
    KeyEntry,
    bucket_name,
    parts_of,
    stored,
)
from processor_runtime.state.keyed_state import KeyedState

AlsoTaken = Literal["none", "holding back", "all"]
"""Keys that a batch may want beside its own: those in which finished matches wait, or all."""


@dataclass(slots=True)
class KeyBuckets:
    """The keys of one group and shard during one batch.

    Args:
        group: the selector group.
        state: where buckets are kept.
        index: the entry of each bucket after the batch before; it is changed.
    """

    group: str
    state: KeyedState
    index: BucketIndex
    _open: dict[int, KeyBucket] = field(default_factory=dict)
    _changed: set[int] = field(default_factory=set)
    _hashes: dict[bytes, int] = field(default_factory=dict)
    _numbers: dict[bytes, int] = field(default_factory=dict)
    _changed_keys: int = 0

    def take(
        self,
        keys: Iterable[bytes],
        due_ms: int,
        older_than_layout: int,
        sweep: int,
        *,
        also: AlsoTaken = "none",
    ) -> Iterator[tuple[bytes, KeyEntry]]:
        """Yield the entries of these keys, of keys with windows due, and of some with old layouts.

        Args:
            keys: keys with events in this batch.
            due_ms: windows are due up to here.
            older_than_layout: entries under older layouts are included, a few buckets at a time, so
                that the state of removed rules is freed eventually.
            sweep: the largest number of buckets for that.
            also: keys that are included beside these.
        """
        wanted: dict[int, list[bytes]] = {}
        for key in keys:
            wanted.setdefault(self._number(key), []).append(key)
        index = self.index
        is_due = index.due(due_ms)
        is_swept = index.to_sweep(older_than_layout, sweep)
        is_held = index.hold_back & (also == "holding back")
        is_wanted = np.full(len(index), also == "all")
        is_wanted[list(wanted)] = True
        is_whole = is_due | is_swept | is_held | (also == "all")
        touched = np.flatnonzero((is_whole | is_wanted) & (index.keys > 0)).tolist()
        for numbers in parts_of(touched):
            self._read(numbers)
            for number in numbers:
                bucket = self._open[number]
                chosen = dict.fromkeys(wanted.get(number, ()))
                if is_whole[number]:
                    if also == "all":
                        chosen |= dict.fromkeys(bucket.keys)
                    if is_due[number]:
                        chosen |= dict.fromkeys(bucket.due(due_ms))
                    if is_swept[number]:
                        chosen |= dict.fromkeys(bucket.older_than(older_than_layout))
                    if is_held[number]:
                        chosen |= dict.fromkeys(bucket.holding_back())
                entries = [(key, bucket.get(key)) for key in chosen]
                yield from ((key, entry) for key, entry in entries if entry is not None)

    def put(self, key: bytes, entry: KeyEntry | None) -> None:
        """Set the entry of a key; `None` removes it."""
        number = self._number(key)
        bucket = self._bucket(number)
        if entry is not None:
            bucket.put(key, entry)
        elif not bucket.remove(key):
            return
        self._changed.add(number)
        self._changed_keys += 1

    def save(self) -> None:
        """Write the buckets that have changed; of more or fewer buckets if that fits the keys."""
        if not self._changed:
            return
        changed = list(self._changed)
        self.index.keys[changed] = [len(self._open[number]) for number in changed]
        count = next_count(self.keys, len(self.index), self._changed_keys)
        if count != len(self.index):
            self._resize(count)
        for numbers in parts_of(sorted(self._changed)):
            self._write(numbers)
        self._changed.clear()
        self._changed_keys = 0

    @property
    def keys(self) -> int:
        """How many keys have an entry."""
        return int(self.index.keys.sum())

    @property
    def size_bytes(self) -> int:
        """How many bytes they take in the state."""
        return int(self.index.sizes_bytes.sum())

    def keys_near_due(self, until_ms: int) -> int:
        """Return how many keys there are in buckets in which a window closes up to a time."""
        return int(self.index.keys[self.index.due(until_ms)].sum())

    @property
    def next_deadline_ms(self) -> int | None:
        """When the next window of any key closes; `None` if none is open."""
        deadline_ms = int(self.index.deadlines_ms.min())
        return None if deadline_ms == NEVER else deadline_ms

    @property
    def oldest_layout(self) -> int | None:
        """The oldest layout a key is still written under; `None` without keys."""
        layout = int(self.index.oldest_layouts.min())
        return None if layout == NEVER else layout

    def _number(self, key: bytes) -> int:
        number = self._numbers.get(key)
        if number is None:
            hashed = self._hashes.get(key)
            if hashed is None:
                hashed = self._hashes[key] = key_hash(self.group, key)
            number = self._numbers[key] = self.index.place(hashed)
        return number

    def _bucket(self, number: int) -> KeyBucket:
        if number not in self._open:
            self._read([number])
        return self._open[number]

    def _read(self, numbers: Iterable[int]) -> None:
        """Open buckets; those that have keys from the state."""
        closed = [number for number in numbers if number not in self._open]
        kept = [number for number in closed if self.index.keys[number]]
        self._open |= {number: KeyBucket() for number in closed if not self.index.keys[number]}
        for number, data in zip(kept, stored(self.state, kept), strict=True):
            self._open[number] = KeyBucket.read(data)

    def _resize(self, count: int) -> None:
        """Have this many buckets, and move the keys that belong to others then."""
        emptied, filled = emptied_and_filled(self.index.keys, count)
        for numbers in parts_of(sorted(emptied | filled)):
            self._read(numbers)
        moved = [self._open[number] for number in emptied]
        self._open |= {number: KeyBucket() for number in emptied}
        gone = (np.flatnonzero(self.index.sizes_bytes[count:]) + count).tolist()
        self.state.put_many(dict.fromkeys(map(bucket_name, gone)))
        self._changed = {number for number in self._changed | emptied if number < count}
        self.index.resize(count)
        self._numbers.clear()
        for bucket in moved:
            for key, entry in bucket.entries():
                number = self._number(key)
                self._bucket(number).put(key, entry)
                self._changed.add(number)

    def _write(self, numbers: Sequence[int]) -> None:
        changes: dict[str, bytes | None] = {}
        summaries = []
        for number in numbers:
            bucket = self._open[number]
            data = bucket.write() if len(bucket) else None
            changes[bucket_name(number)] = data
            summaries.append(bucket.summary(len(data) if data else 0))
        self.state.put_many(changes)
        self.index.set_summaries(numbers, summaries)

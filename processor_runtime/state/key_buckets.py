"""Keys of one selector group and shard, in buckets: few state accesses, and only where needed.

    keys of this batch, windows due ──take──► encoded keys ──matcher──► put ──save──► state

A bucket holds some hundred keys by hash, each encoded on its own. A batch reads and writes the
buckets it touches, and decodes the keys it touches. The index of buckets says where windows are
due, so that no scan over all keys is needed.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

from processor_runtime.rows.key_hashing import bucket_of, key_hash
from processor_runtime.state.key_bucket import BucketSummary, KeyBucket, KeyEntry
from processor_runtime.state.keyed_state import KeyedState

KEYS_PER_BUCKET: Final = 256
"""If the average exceeds twice this number, the number of buckets is doubled."""

AlsoTaken = Literal["none", "holding back", "all"]
"""Keys that a batch may want beside its own: those in which finished matches wait, or all."""


@dataclass(slots=True)
class KeyBuckets:
    """The keys of one group and shard during one batch.

    Args:
        group: the selector group.
        state: where buckets are kept.
        index: the entry of each bucket after the batch before; their number is a power of two.
    """

    group: str
    state: KeyedState
    index: list[BucketSummary]
    _open: dict[int, KeyBucket] = field(default_factory=dict)
    _changed: set[int] = field(default_factory=set)

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
        for number, summary in enumerate(self.index):
            is_due = summary.deadline_ms is not None and summary.deadline_ms <= due_ms
            is_old = summary.oldest_layout is not None and summary.oldest_layout < older_than_layout
            is_swept = is_old and sweep > 0
            sweep -= is_swept
            is_held = also == "holding back" and summary.holds_back
            if not (is_due or is_swept or is_held or also == "all" or number in wanted):
                continue
            bucket = self._bucket(number)
            chosen = dict.fromkeys(key for key in wanted.get(number, ()) if key in bucket)
            if also == "all":
                chosen = dict.fromkeys(bucket.keys)
            if is_due:
                chosen |= dict.fromkeys(bucket.due(due_ms))
            if is_swept:
                chosen |= dict.fromkeys(bucket.older_than(older_than_layout))
            if is_held:
                chosen |= dict.fromkeys(bucket.holding_back())
            yield from [(key, bucket[key]) for key in chosen]

    def put(self, key: bytes, entry: KeyEntry | None) -> None:
        """Set the entry of a key; `None` removes it."""
        number = self._number(key)
        bucket = self._bucket(number)
        if entry is not None:
            bucket.put(key, entry)
        elif not bucket.remove(key):
            return
        self._changed.add(number)

    def save(self) -> None:
        """Write the buckets that have changed, in more buckets if they have become too full."""
        for number in self._changed:
            self._summarise(number)
        if self.keys > 2 * KEYS_PER_BUCKET * len(self.index):
            self._grow()
        for number in sorted(self._changed):
            self._write(number)
        self._changed.clear()

    @property
    def keys(self) -> int:
        """How many keys have an entry."""
        return sum(summary.keys for summary in self.index)

    @property
    def size_bytes(self) -> int:
        """How many bytes they take in the state."""
        return sum(summary.size_bytes for summary in self.index)

    @property
    def next_deadline_ms(self) -> int | None:
        """When the next window of any key closes; `None` if none is open."""
        deadlines = (summary.deadline_ms for summary in self.index)
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    @property
    def oldest_layout(self) -> int | None:
        """The oldest layout a key is still written under; `None` without keys."""
        layouts = (summary.oldest_layout for summary in self.index)
        return min((number for number in layouts if number is not None), default=None)

    def _number(self, key: bytes) -> int:
        return bucket_of(key_hash(self.group, key), len(self.index))

    def _bucket(self, number: int) -> KeyBucket:
        bucket = self._open.get(number)
        if bucket is None:
            data = self.state.get(f"b{number}") if self.index[number].keys else None
            bucket = self._open[number] = KeyBucket() if data is None else KeyBucket.read(data)
        return bucket

    def _summarise(self, number: int) -> None:
        self.index[number] = self._open[number].summary(self.index[number].size_bytes)

    def _grow(self) -> None:
        before = [self._bucket(number) for number in range(len(self.index))]
        size = len(self.index)
        while self.keys > KEYS_PER_BUCKET * size:
            size *= 2
        self.index = [BucketSummary() for _ in range(size)]
        self._open = {number: KeyBucket() for number in range(size)}
        for bucket in before:
            for key in bucket.keys:
                self._open[self._number(key)].put(key, bucket[key])
        self._changed = set(range(size))
        for number in self._changed:
            self._summarise(number)

    def _write(self, number: int) -> None:
        bucket = self._open[number]
        if len(bucket):
            data = bucket.write()
            self.state.put(f"b{number}", data)
            self.index[number].size_bytes = len(data)
        else:
            self.state.delete(f"b{number}")
            self.index[number].size_bytes = 0

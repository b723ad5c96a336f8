"""Keys of one selector group and shard, in buckets: few state accesses, and only where needed.

    keys of this batch, windows due ──take──► encoded keys ──matcher──► put ──save──► state

A bucket holds some hundred keys by hash, each encoded on its own. A batch reads and writes the
buckets it touches, and decodes the keys it touches. The index of buckets says where windows are
due, so that no scan over all keys is needed.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

from cep.nfa.codec import pack, unpack
from processor_runtime.rows.key_hashing import bucket_of, key_hash
from processor_runtime.state.keyed_state import KeyedState

KEYS_PER_BUCKET: Final = 256
"""If the average exceeds twice this number, the number of buckets is doubled."""

AlsoTaken = Literal["none", "holding back", "all"]
"""Keys that a batch may want beside its own: those in which finished matches wait, or all."""


class KeyEntry(NamedTuple):
    """One encoded key.

    `deadline_ms` is when its next window closes, `layout` the number of the layout it was written
    under (see `cep.matching.key_state`). `holds_back` tells whether finished matches wait in it;
    an entry written before this was known may do so.
    """

    deadline_ms: int | None
    layout: int
    data: bytes
    holds_back: bool = True


@dataclass(slots=True)
class BucketSummary:
    """The entry of a bucket in the index, which is known without reading the bucket."""

    deadline_ms: int | None = None
    oldest_layout: int | None = None
    keys: int = 0
    size_bytes: int = 0
    holds_back: bool = True


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
    _open: dict[int, dict[bytes, KeyEntry]] = field(default_factory=dict)
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
            entries = self._entries(number)
            if also == "all":
                yield from list(entries.items())
                continue
            chosen = dict.fromkeys(key for key in wanted.get(number, ()) if key in entries)
            if is_due or is_swept or is_held:
                chosen |= dict.fromkeys(
                    key
                    for key, entry in entries.items()
                    if (entry.deadline_ms is not None and entry.deadline_ms <= due_ms)
                    or (is_swept and entry.layout < older_than_layout)
                    or (is_held and entry.holds_back)
                )
            yield from [(key, entries[key]) for key in chosen]

    def put(self, key: bytes, entry: KeyEntry | None) -> None:
        """Set the entry of a key; `None` removes it."""
        number = self._number(key)
        entries = self._entries(number)
        if entry is not None:
            entries[key] = entry
        elif entries.pop(key, None) is None:
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

    def _entries(self, number: int) -> dict[bytes, KeyEntry]:
        entries = self._open.get(number)
        if entries is None:
            data = self.state.get(f"b{number}") if self.index[number].keys else None
            content: dict[bytes, Any] = {} if data is None else unpack(data)
            entries = {key: KeyEntry(*entry) for key, entry in content.items()}
            self._open[number] = entries
        return entries

    def _summarise(self, number: int) -> None:
        entries = self._open[number].values()
        deadlines = (entry.deadline_ms for entry in entries)
        self.index[number] = BucketSummary(
            min((deadline for deadline in deadlines if deadline is not None), default=None),
            min((entry.layout for entry in entries), default=None),
            len(entries),
            self.index[number].size_bytes,
            any(entry.holds_back for entry in entries),
        )

    def _grow(self) -> None:
        everything: dict[bytes, KeyEntry] = {}
        for number in range(len(self.index)):
            everything |= self._entries(number)
        size = len(self.index)
        while self.keys > KEYS_PER_BUCKET * size:
            size *= 2
        self.index = [BucketSummary() for _ in range(size)]
        self._open = {number: {} for number in range(size)}
        for key, entry in everything.items():
            self._open[self._number(key)][key] = entry
        self._changed = set(range(size))
        for number in self._changed:
            self._summarise(number)

    def _write(self, number: int) -> None:
        entries = self._open[number]
        if entries:
            data = pack({key: list(entry) for key, entry in entries.items()})
            self.state.put(f"b{number}", data)
            self.index[number].size_bytes = len(data)
        else:
            self.state.delete(f"b{number}")
            self.index[number].size_bytes = 0

"""One bucket of keys, in columns: what a batch does not touch of it is never decoded.

    bytes ──read──► KeyBucket ──get, put, remove──► write ──► bytes

Of some dozens of keys a batch touches few, and it reads and writes the bucket as a whole. So there
is a list of each part of an entry, no object for an entry until it is asked for, and no place of
a key is known until many are. Of what is the same for all keys, as it mostly is, one is written.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from cep.nfa.codec import pack_values, sealed, unpack, unsealed
from processor_runtime.state.bucket_index import BucketSummary
from processor_runtime.state.compression import compressed, uncompressed
from processor_runtime.state.keyed_state import KeyedState


class KeyEntry(NamedTuple):
    """One encoded key.

    `deadline_ms` is when its next window closes, `layout` the number of the layout it was written
    under (see `cep.matching.key_state`). `holds_back` tells whether finished matches wait in it.
    """

    deadline_ms: int | None
    layout: int
    data: bytes
    holds_back: bool = True


_TOGETHER: Final = 1_024
"""How many buckets are read or written at once."""
_SEARCHES: Final = 4
"""From so many on, knowing all places is cheaper than looking for each."""


@dataclass(slots=True)
class KeyBucket:
    """The keys of a bucket; the other lists have a value for each, in the same order.

    The order is that in which keys were put, but that the last one takes the place of one removed.
    """

    keys: list[bytes] = field(default_factory=list)
    deadlines_ms: list[int | None] = field(default_factory=list)
    layouts: list[int] = field(default_factory=list)
    data: list[bytes] = field(default_factory=list)
    hold_back: list[bool] = field(default_factory=list)
    _places: dict[bytes, int] | None = None
    _searches: int = 0

    @classmethod
    def read(cls, data: bytes) -> "KeyBucket":
        """Return the bucket that `write` wrote.

        Raises:
            StateEncodingError: the bytes are corrupt.
        """
        keys, deadlines_ms, layouts, entries, hold_back = unpack(uncompressed(data))
        count = len(keys)
        return cls(
            keys,
            deadlines_ms,
            layouts if isinstance(layouts, list) else [layouts] * count,
            entries,
            hold_back if isinstance(hold_back, list) else [hold_back] * count,
        )

    def write(self) -> bytes:
        """Return the bucket as bytes."""
        layouts, hold_back = _once(self.layouts), _once(self.hold_back)
        return encode_bucket(
            pack_values([self.keys, self.deadlines_ms, layouts, self.data, hold_back])
        )

    def __len__(self) -> int:
        """Return how many keys there are."""
        return len(self.keys)

    def __contains__(self, key: bytes) -> bool:
        """Return whether a key has an entry."""
        return self._place(key) is not None

    def __getitem__(self, key: bytes) -> KeyEntry:
        """Return the entry of a key that has one."""
        entry = self.get(key)
        if entry is None:
            raise KeyError(key)
        return entry

    def get(self, key: bytes) -> KeyEntry | None:
        """Return the entry of a key, `None` if it has none."""
        place = self._place(key)
        if place is None:
            return None
        return KeyEntry(
            self.deadlines_ms[place],
            self.layouts[place],
            self.data[place],
            self.hold_back[place],
        )

    def put(self, key: bytes, entry: KeyEntry) -> None:
        """Set the entry of a key."""
        place = self._place(key)
        if place is not None:
            self._set(place, entry)
            return
        if self._places is not None:
            self._places[key] = len(self.keys)
        self.keys.append(key)
        self.deadlines_ms.append(entry.deadline_ms)
        self.layouts.append(entry.layout)
        self.data.append(entry.data)
        self.hold_back.append(entry.holds_back)

    def remove(self, key: bytes) -> bool:
        """Remove a key; return whether it had an entry."""
        place = self._place(key)
        if place is None:
            return False
        if self._places is not None:
            del self._places[key]
        last = self.keys.pop()
        entry = KeyEntry(
            self.deadlines_ms.pop(), self.layouts.pop(), self.data.pop(), self.hold_back.pop()
        )
        if last != key:
            if self._places is not None:
                self._places[last] = place
            self.keys[place] = last
            self._set(place, entry)
        return True

    def entries(self) -> Iterator[tuple[bytes, KeyEntry]]:
        """Yield all keys and their entries."""
        entries = zip(self.deadlines_ms, self.layouts, self.data, self.hold_back, strict=True)
        return zip(self.keys, map(KeyEntry._make, entries), strict=True)

    def due(self, until_ms: int) -> Iterator[bytes]:
        """Yield the keys of which a window closes up to a time."""
        for key, deadline_ms in zip(self.keys, self.deadlines_ms, strict=True):
            if deadline_ms is not None and deadline_ms <= until_ms:
                yield key

    def older_than(self, layout: int) -> Iterator[bytes]:
        """Yield the keys that were written under older layouts."""
        return (key for key, its in zip(self.keys, self.layouts, strict=True) if its < layout)

    def holding_back(self) -> Iterator[bytes]:
        """Yield the keys in which finished matches wait."""
        return (key for key, does in zip(self.keys, self.hold_back, strict=True) if does)

    def summary(self, size_bytes: int) -> BucketSummary:
        """Return what the index says of it.

        Args:
            size_bytes: what it takes in the state.
        """
        known_ms: list[Any] = self.deadlines_ms
        if None in known_ms:
            known_ms = [each for each in known_ms if each is not None]
        return BucketSummary(
            min(known_ms, default=None),
            min(self.layouts, default=None),
            len(self.keys),
            size_bytes,
            True in self.hold_back,
        )

    def _place(self, key: bytes) -> int | None:
        if self._places is None:
            if self._searches < _SEARCHES:
                self._searches += 1
                return self.keys.index(key) if key in self.keys else None
            self._places = dict(zip(self.keys, range(len(self.keys)), strict=True))
        return self._places.get(key)

    def _set(self, place: int, entry: KeyEntry) -> None:
        self.deadlines_ms[place] = entry.deadline_ms
        self.layouts[place] = entry.layout
        self.data[place] = entry.data
        self.hold_back[place] = entry.holds_back


def bucket_name(number: int) -> str:
    """Return the name under which a bucket is in the state of its group."""
    return f"b{number}"


def parts_of(numbers: Sequence[int]) -> Iterator[Sequence[int]]:
    """Yield the numbers of buckets in parts that are read or written at once."""
    return (numbers[begin : begin + _TOGETHER] for begin in range(0, len(numbers), _TOGETHER))


def stored(state: KeyedState, numbers: Sequence[int]) -> Iterator[bytes]:
    """Yield what a state has of buckets with keys, in this order.

    Raises:
        LookupError: it lacks one.
    """
    for part in parts_of(numbers):
        found = state.get_many(list(map(bucket_name, part)))
        for number, data in zip(part, found, strict=True):
            if data is None:
                raise LookupError(f"the state has lost the bucket {number} of its keys")
            yield data


def content_of(data: bytes) -> bytes:
    """Return the list that a bucket is, packed, of what `write` wrote.

    Raises:
        StateEncodingError: the bytes are corrupt.
    """
    return unsealed(uncompressed(data))


def encode_bucket(content: bytes) -> bytes:
    """Return a bucket as it is kept, of the list that it is, packed."""
    return compressed(sealed(content))


def _once(values: list[Any]) -> Any:
    """Return the value that all are, or the values."""
    first = values[0] if values else None
    return first if values and values.count(first) == len(values) else values

"""One bucket of keys, in columns: what a batch does not touch of it is never decoded.

    bytes ──read──► KeyBucket ──get, put, remove──► write ──► bytes

Of some hundred keys a batch touches few, and it reads and writes the bucket as a whole. So there is
a table of numbers and one text of bytes for all entries, and no object for one until it is asked
for; what is put is kept beside them until all is needed.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cep.nfa.codec import pack, unpack
from processor_runtime.state.compression import compressed, uncompressed

_DEADLINE_MS, _LAYOUT, _SIZE, _HOLDS_BACK = range(4)
"""The rows of the table of a bucket; keys are its columns."""
_NEVER_MS: Final = np.iinfo(np.int64).max
"""Stands in the table for no deadline, and for one that no watermark reaches."""
_SEARCHES: Final = 12
"""So many keys are searched one by one before all are put into a dict."""


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

    def as_values(self) -> list[int | None]:
        """Return its fields in their order; there are thousands in an index."""
        return [
            self.deadline_ms,
            self.oldest_layout,
            self.keys,
            self.size_bytes,
            self.holds_back,
        ]


@dataclass(slots=True)
class KeyBucket:
    """The keys of a bucket, in the order in which they were last put.

    Each has a column of `_table` and, one after the other, a part of `_data`; `_put` is what was
    put since, `None` for a key that was removed.
    """

    _keys: list[bytes] = field(default_factory=list)
    _table: NDArray[np.int64] = field(default_factory=lambda: np.zeros((4, 0), np.int64))
    _data: bytes = b""
    _put: dict[bytes, KeyEntry | None] = field(default_factory=dict)
    _ends: NDArray[np.int64] = field(init=False)
    _places: dict[bytes, int] | None = None
    _searches: int = 0

    def __post_init__(self) -> None:
        self._ends = self._table[_SIZE].cumsum()

    @classmethod
    def read(cls, data: bytes) -> "KeyBucket":
        """Return the bucket that `write` wrote, or an earlier version.

        Raises:
            StateEncodingError: the bytes are corrupt.
        """
        content: Any = unpack(uncompressed(data))
        match content:
            case [keys, bytes(table), bytes(entries)]:
                return cls(keys, np.frombuffer(table, "<i8").reshape(4, -1), entries)
            case [keys, *columns]:  # a list for each part of an entry
                earlier = dict(zip(keys, map(KeyEntry, *columns), strict=True))
            case _:  # entries by key
                earlier = {key: KeyEntry(*entry) for key, entry in content.items()}
        bucket = cls()
        for key, entry in earlier.items():
            bucket.put(key, entry)
        return bucket

    def write(self) -> bytes:
        """Return the bucket as bytes."""
        self._settle()
        return compressed(pack([self._keys, self._table.tobytes(), self._data]))

    @property
    def keys(self) -> list[bytes]:
        """Return all keys."""
        self._settle()
        return self._keys

    def __len__(self) -> int:
        """Return how many keys there are."""
        return len(self.keys)

    def get(self, key: bytes) -> KeyEntry | None:
        """Return the entry of a key, `None` if it has none."""
        if key in self._put:
            return self._put[key]
        place = self._place(key)
        if place is None:
            return None
        deadline_ms, layout, size, holds_back = self._table[:, place].tolist()
        end = self._ends.item(place)
        return KeyEntry(
            None if deadline_ms == _NEVER_MS else deadline_ms,
            layout,
            self._data[end - size : end],
            bool(holds_back),
        )

    def put(self, key: bytes, entry: KeyEntry) -> None:
        """Set the entry of a key."""
        self._put[key] = entry

    def remove(self, key: bytes) -> bool:
        """Remove a key; return whether it had an entry."""
        had_one = self.get(key) is not None
        if had_one:
            self._put[key] = None
        return had_one

    def due(self, until_ms: int) -> list[bytes]:
        """Return the keys of which a window closes up to a time."""
        deadlines_ms = self._row(_DEADLINE_MS)
        return self._where((deadlines_ms <= until_ms) & (deadlines_ms != _NEVER_MS))

    def older_than(self, layout: int) -> list[bytes]:
        """Return the keys that were written under older layouts."""
        return self._where(self._row(_LAYOUT) < layout)

    def holding_back(self) -> list[bytes]:
        """Return the keys in which finished matches wait."""
        return self._where(self._row(_HOLDS_BACK) > 0)

    def summary(self, size_bytes: int) -> BucketSummary:
        """Return what the index says of it.

        Args:
            size_bytes: what it takes in the state.
        """
        if not len(self):
            return BucketSummary(size_bytes=size_bytes, holds_back=False)
        deadline_ms, oldest_layout, *_ = self._table.min(axis=1).tolist()
        return BucketSummary(
            None if deadline_ms == _NEVER_MS else deadline_ms,
            oldest_layout,
            len(self),
            size_bytes,
            bool(self._table[_HOLDS_BACK].any()),
        )

    def _row(self, number: int) -> NDArray[np.int64]:
        self._settle()
        row: NDArray[np.int64] = self._table[number]
        return row

    def _where(self, is_wanted: NDArray[np.bool_]) -> list[bytes]:
        return [self._keys[place] for place in np.flatnonzero(is_wanted).tolist()]

    def _place(self, key: bytes) -> int | None:
        if self._places is None:
            self._searches += 1
            if self._searches <= _SEARCHES:
                try:
                    return self._keys.index(key)
                except ValueError:
                    return None
            self._places = dict(zip(self._keys, range(len(self._keys)), strict=True))
        return self._places.get(key)

    def _settle(self) -> None:
        """Take what was put into the columns: it comes behind what stays."""
        if not self._put:
            return
        found = map(self._place, self._put)
        replaced = sorted(place for place in found if place is not None)
        stays = np.ones(len(self._keys), np.bool_)
        stays[replaced] = False
        ends = self._ends[replaced]
        starts = ends - self._table[_SIZE, replaced]
        parts, begin = [], 0
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            parts.append(self._data[begin:start])
            begin = end
        parts.append(self._data[begin:])
        for place in reversed(replaced):
            del self._keys[place]
        new = {key: entry for key, entry in self._put.items() if entry is not None}
        self._keys += new
        self._table = np.concatenate((self._table[:, stays], _columns(new.values())), axis=1)
        self._data = b"".join([*parts, *(entry.data for entry in new.values())])
        self._ends = self._table[_SIZE].cumsum()
        self._put, self._places, self._searches = {}, None, 0


def _columns(entries: Collection[KeyEntry]) -> NDArray[np.int64]:
    columns = [
        (
            # A window may be so long that it ends behind the last time there is.
            _NEVER_MS if deadline_ms is None else min(deadline_ms, _NEVER_MS),
            layout,
            len(data),
            holds_back,
        )
        for deadline_ms, layout, data, holds_back in entries
    ]
    table: NDArray[np.int64] = np.array(columns, np.int64).reshape(-1, 4).T
    return table

"""The index of the buckets of a group: what is known of each without reading it, in columns.

    header ──read_index──► BucketIndex ──masks, sums, least──► which buckets a batch is about
                               └──changed, resized by a batch──► write_index ──► header

There are tens of thousands of buckets, and the index is read and written in every batch.

Key hashes find their bucket by linear hashing: with n buckets, 2^k <= n < 2^(k+1), it is the hash
modulo 2^(k+1) if there is such a bucket, else modulo 2^k. So one more bucket takes keys from one
other only, and where n is a power of two, as it once always was, all is as it was then.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from cep.nfa.codec import pack, unpack
from cep.nfa.errors import StateEncodingError
from processor_runtime.state.compression import compressed, uncompressed

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
NEVER: Final = 2**63 - 1
"""In columns, no deadline and no layout; a deadline from here on is none, too."""


@dataclass(slots=True, eq=False)
class BucketIndex:
    """The entries of all buckets, in columns."""

    deadlines_ms: Numbers
    oldest_layouts: Numbers
    keys: Numbers
    sizes_bytes: Numbers
    hold_back: Flags

    @classmethod
    def empty(cls, count: int = 1) -> "BucketIndex":
        """Return the index of so many buckets without keys."""
        never, none = np.full(count, NEVER, np.int64), np.zeros(count, np.int64)
        return cls(never, never.copy(), none, none.copy(), np.zeros(count, np.bool_))

    def __len__(self) -> int:
        """Return how many buckets there are."""
        return len(self.keys)

    def __eq__(self, other: object) -> bool:
        """Return whether the entries are the same."""
        return isinstance(other, BucketIndex) and all(
            np.array_equal(mine, its)
            for mine, its in zip(self.columns(), other.columns(), strict=True)
        )

    __hash__ = None  # type: ignore[assignment] # it changes

    def places(self, hashes: npt.NDArray[np.uint64]) -> Numbers:
        """Return the bucket of each of some hashed keys."""
        low = (hashes & np.uint64(0xFFFF_FFFF)).astype(np.int64)
        power = 1 << (len(self).bit_length() - 1)
        wide: Numbers = low & (2 * power - 1)
        return np.where(wide < len(self), wide, wide & (power - 1))

    def due(self, until_ms: int) -> Flags:
        """Return in which buckets windows close up to a time."""
        flags: Flags = self.deadlines_ms <= min(until_ms, NEVER - 1)
        return flags

    def to_sweep(self, older_than_layout: int, most: int) -> Flags:
        """Return in which buckets something is of an older layout, of so many buckets at most."""
        flags: Flags = self.oldest_layouts < older_than_layout
        flags[np.flatnonzero(flags)[max(most, 0) :]] = False
        return flags

    @property
    def key_count(self) -> int:
        """How many keys have an entry."""
        return int(self.keys.sum())

    @property
    def size_bytes(self) -> int:
        """How many bytes they take in the state."""
        return int(self.sizes_bytes.sum())

    @property
    def next_deadline_ms(self) -> int | None:
        """When the next window of any key closes; `None` if none is open."""
        deadline_ms = int(self.deadlines_ms.min())
        return None if deadline_ms == NEVER else deadline_ms

    @property
    def oldest_layout(self) -> int | None:
        """The oldest layout a key is still written under; `None` without keys."""
        layout = int(self.oldest_layouts.min())
        return None if layout == NEVER else layout

    def clear(self, numbers: Sequence[int]) -> None:
        """Let some buckets have no keys."""
        for mine, empty in zip(self.columns(), BucketIndex.empty().columns(), strict=True):
            mine[list(numbers)] = empty

    def resize(self, count: int) -> None:
        """Have this many buckets: empty ones at the end are added, or gone."""
        added = max(count - len(self), 0)
        resized = [
            np.concatenate((mine[:count], np.repeat(empty, added)))
            for mine, empty in zip(self.columns(), BucketIndex.empty().columns(), strict=True)
        ]
        (
            self.deadlines_ms,
            self.oldest_layouts,
            self.keys,
            self.sizes_bytes,
            self.hold_back,
        ) = resized

    def columns(self) -> list[npt.NDArray[Any]]:
        """Return the columns in the order of the fields of an entry."""
        return [self.deadlines_ms, self.oldest_layouts, self.keys, self.sizes_bytes, self.hold_back]


def read_index(data: bytes) -> BucketIndex:
    """Return the index that `write_index` wrote.

    Raises:
        StateEncodingError: the bytes are corrupt.
    """
    columns = [_read_column(each) for each in unpack(uncompressed(data))]
    if len({len(column) for column in columns}) != 1 or not len(columns[0]):
        raise StateEncodingError("the index of the keys is corrupt: its columns do not fit")
    deadlines, layouts, keys, sizes, hold_back = columns
    return BucketIndex(deadlines, layouts, keys, sizes, hold_back.astype(np.bool_))


def write_index(index: BucketIndex) -> bytes:
    """Return an index as bytes."""
    return compressed(pack([_written_column(column) for column in index.columns()]))


# Byte by byte of all numbers: the upper ones are the same in most, which then take no room.


def _written_column(column: npt.NDArray[Any]) -> bytes:
    planes = column.astype("<i8").view(np.uint8).reshape(-1, 8).T
    return np.ascontiguousarray(planes).tobytes()


def _read_column(data: bytes) -> Numbers:
    planes = np.frombuffer(data, np.uint8).reshape(8, -1)
    return np.ascontiguousarray(planes.T).reshape(-1).view("<i8").astype(np.int64)

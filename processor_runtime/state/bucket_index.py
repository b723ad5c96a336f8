"""The index of the buckets of a group: what is known of each without reading it, in columns.

    header ──read_index──► BucketIndex ──masks, sums, least──► which buckets a batch is about
                                  ▲ set_summaries, resize ── a batch ──► write_index ──► header

There are tens of thousands of buckets, and the index is read and written in every batch.

Key hashes find their bucket by linear hashing: with n buckets, 2^k <= n < 2^(k+1), it is the hash
modulo 2^(k+1) if there is such a bucket, else modulo 2^k. So one more bucket takes keys from one
other only, and where n is a power of two, as it once always was, all is as it was then.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from cep.nfa.codec import pack, unpack
from cep.nfa.errors import StateEncodingError
from processor_runtime.state.compression import compressed, uncompressed

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
NEVER: Final = 2**63 - 1
"""In columns, no deadline and no layout; a deadline from here on is none, too."""


class BucketSummary(NamedTuple):
    """The entry of a bucket in the index."""

    deadline_ms: int | None = None
    oldest_layout: int | None = None
    keys: int = 0
    size_bytes: int = 0
    holds_back: bool = True


@dataclass(slots=True, eq=False)
class BucketIndex:
    """The entries of all buckets, in columns."""

    deadlines_ms: Numbers
    oldest_layouts: Numbers
    keys: Numbers
    sizes_bytes: Numbers
    hold_back: Flags

    @classmethod
    def of(cls, summaries: Iterable[BucketSummary] = (BucketSummary(),)) -> "BucketIndex":
        """Return the index with these entries, by default of one empty bucket."""
        columns = list(zip(*(_as_numbers(each) for each in summaries), strict=True))
        deadlines, layouts, keys, sizes, hold_back = (np.array(each, np.int64) for each in columns)
        return cls(deadlines, layouts, keys, sizes, hold_back.astype(np.bool_))

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

    def place(self, hashed: int) -> int:
        """Return the bucket, from 0, of a hashed key within its shard."""
        return bucket_place(hashed, len(self.keys))

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

    def set_summaries(self, numbers: Sequence[int], summaries: Iterable[BucketSummary]) -> None:
        """Set the entries of some buckets."""
        new = BucketIndex.of(summaries)
        for mine, its in zip(self.columns(), new.columns(), strict=True):
            mine[list(numbers)] = its

    def empty(self, numbers: Sequence[int]) -> None:
        """Let some buckets have no keys."""
        for mine, empty in zip(self.columns(), BucketIndex.of().columns(), strict=True):
            mine[list(numbers)] = empty
        self.hold_back[list(numbers)] = False

    def resize(self, count: int) -> None:
        """Have this many buckets: empty ones at the end are added, or gone."""
        added = max(count - len(self), 0)
        resized = [
            np.concatenate((mine[:count], np.repeat(empty, added)))
            for mine, empty in zip(self.columns(), BucketIndex.of().columns(), strict=True)
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
        return [
            self.deadlines_ms,
            self.oldest_layouts,
            self.keys,
            self.sizes_bytes,
            self.hold_back,
        ]


def bucket_place(hashed: int, buckets: int) -> int:
    """Return the bucket, from 0, of a hashed key, with so many of them; see the module."""
    low = hashed & 0xFFFF_FFFF
    power = 1 << (buckets.bit_length() - 1)
    place = low & (2 * power - 1)
    return place if place < buckets else place & (power - 1)


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


def _as_numbers(summary: BucketSummary) -> tuple[int, int, int, int, bool]:
    deadline_ms, layout, keys, size_bytes, holds_back = summary
    return (
        NEVER if deadline_ms is None else min(deadline_ms, NEVER),
        NEVER if layout is None else layout,
        keys,
        size_bytes,
        holds_back,
    )

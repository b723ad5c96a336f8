"""The bytes of a key, its shard and its bucket within the shard; must never change.

key values ──key_bytes──► bytes ──key_hash──► shard (of the job) · bucket (of the shard)
                               ──key_part──► part of the keys, for rollouts
"""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from cep.nfa.codec import pack_values, unpack_values
from contract.snapshot import KEY_SHARES

Hashed = TypeVar("Hashed", int, NDArray[Any])
"""A hash, or many."""


def key_bytes(values: Sequence[Any]) -> bytes:
    """Return the values of a key as bytes, equal for equal keys.

    Raises:
        StateEncodingError: a value is of a type that has no encoding.
    """
    return pack_values(list(values))


def key_values(data: bytes) -> tuple[Any, ...]:
    """Return the key that `key_bytes` wrote."""
    return tuple(unpack_values(data))


def key_hash(group: str, data: bytes) -> int:
    """Return 64 well mixed bits of a key of one selector group."""
    return int(key_hashes(group, [data])[0])


def key_hashes(group: str, keys: Iterable[bytes | memoryview]) -> NDArray[np.uint64]:
    """Return the same of many keys: BLAKE2b (RFC 7693) under the group, of eight bytes."""
    begun = blake2b(digest_size=8, key=group.encode())
    digests = []
    for key in keys:
        hashed = begun.copy()  # a third less than to begin with each
        hashed.update(key)
        digests.append(hashed.digest())
    return np.frombuffer(b"".join(digests), ">u8").astype(np.uint64)


def shard_of(hashed: Hashed, shards: int) -> Hashed:
    """Return the shard, from 0, of a hashed key, or of each of many."""
    return (hashed >> 32) % shards


def bucket_of(hashed: int, buckets: int) -> int:
    """Return the bucket, from 0, of a hashed key within its shard; independent of the shard."""
    return (hashed & 0xFFFFFFFF) % buckets


def key_part(data: bytes) -> int:
    """Return which of the `KEY_SHARES` parts of all keys a key is in.

    The same in every job, for every rule, and whatever the share is.
    """
    return key_hash("rollout", data) % KEY_SHARES

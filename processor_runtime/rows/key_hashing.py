"""The bytes of a key, its shard and its bucket within the shard; must never change.

key values ──key_bytes──► bytes ──key_hash──► shard (of the job) · bucket (of the shard)
                               ──key_part──► part of the keys, for rollouts
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeVar

from cep.nfa.codec import pack_values, unpack_values
from contract.snapshot import KEY_SHARES

if TYPE_CHECKING:
    from numpy.typing import NDArray

Hashed = TypeVar("Hashed", int, "NDArray[Any]")
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
    return int.from_bytes(blake2b(data, digest_size=8, key=group.encode()).digest(), "big")


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

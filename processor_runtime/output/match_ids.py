"""The ids of what is found: hashes of it, so that it has the same id whenever it is found again.

version and kind ──rule_digest──┐
times, key and events ──find_digests──┴──MatchIds──► ids, of which equal finds have different ones

What several rules find is hashed once for all of them. An id is the exclusive or of both hashes:
to make a find that has the id of another one, a hash must be inverted, as if both were hashed
together.

Source: RFC 7693, "The BLAKE2 Cryptographic Hash and Message Authentication Code".
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

import numpy as np
from numpy.typing import NDArray

Digests = NDArray[np.uint64]
"""Hashes of 16 bytes, two numbers each."""

DIGEST_BYTES: Final = 16
"""As many has an id, which is written with hexadecimal digits."""


def rule_digest(processor_id: str, version: int, kind: str) -> bytes:
    """Return the hash of which version has found something, and of what kind that is."""
    return _digest(f"{processor_id}\0{version}\0{kind}".encode())


def find_digests(texts: Iterable[bytes | memoryview]) -> list[bytes]:
    """Return the hashes of what was found: begin and end in milliseconds, key and events as JSON.

    Args:
        texts: of each find these four, with a comma behind each of the first two.
    """
    return [_digest(text) for text in texts]


def as_numbers(digests: Iterable[bytes]) -> Digests:
    """Return hashes as an array of shape `(n, 2)`."""
    return np.frombuffer(b"".join(digests), np.uint64).reshape(-1, 2)


def _digest(text: bytes | memoryview) -> bytes:
    return blake2b(text, digest_size=DIGEST_BYTES).digest()


@dataclass(slots=True)
class MatchIds:
    """Assigns the ids of what is found in one batch of one shard; equal finds are numbered.

    Two finds can have equal content, where equal events came twice. If they are found at the same
    event time, too, they are found in the same batch and shard.
    """

    _counts: dict[bytes, int] = field(default_factory=dict)
    """How often each id has come."""

    def match_id(self, of_rule: bytes, of_find: bytes) -> str:
        """Return the id of a find, 32 hexadecimal digits.

        Args:
            of_rule: what `rule_digest` returned.
            of_find: what `find_digests` did.
        """
        together = int.from_bytes(of_rule) ^ int.from_bytes(of_find)
        return self._numbered(together.to_bytes(DIGEST_BYTES)).hex()

    def ids(self, of_rules: Digests, of_finds: Digests) -> bytes:
        """Return the ids of many finds, `DIGEST_BYTES` each, one after the other."""
        together = (of_rules ^ of_finds).tobytes()
        ids = [
            together[begin : begin + DIGEST_BYTES]
            for begin in range(0, len(together), DIGEST_BYTES)
        ]
        new = dict.fromkeys(ids, 1)
        if len(new) == len(ids) and self._counts.keys().isdisjoint(new):
            self._counts |= new
            return together
        return b"".join(map(self._numbered, ids))

    def _numbered(self, first: bytes) -> bytes:
        """Count an id; return it, or another one if it has come before."""
        number = self._counts.get(first, 0)
        self._counts[first] = number + 1
        return _digest(first + number.to_bytes(4, "big")) if number else first

"""The ids of what is found: hashes of it, so that it has the same id whenever it is found again.

version and kind ──rule_digest──┐
times, key and events ──find_digest──┴──MatchIds──► ids, of which equal finds have different ones

Those of many finds come from compiled code, `compiled.blake2b`.

What several rules find is hashed once for all of them. An id is the exclusive or of both hashes:
to make a find that has the id of another one, a hash must be inverted, as if both were hashed
together.

Source: RFC 7693, "The BLAKE2 Cryptographic Hash and Message Authentication Code".
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from sys import byteorder
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


def find_digest(text: bytes) -> bytes:
    """Return the hash of what was found.

    `text`: begin and end in milliseconds, with a comma behind each, then key and events as JSON.
    """
    return _digest(text)


def as_numbers(digests: Iterable[bytes]) -> Digests:
    """Return hashes as an array of shape `(n, 2)`."""
    return np.frombuffer(b"".join(digests), np.uint64).reshape(-1, 2)


def _digest(text: bytes) -> bytes:
    return blake2b(text, digest_size=DIGEST_BYTES).digest()


@dataclass(slots=True)
class MatchIds:
    """Assigns the ids of what is found in one batch of one shard; equal finds are numbered.

    Two finds can have equal content, where equal events came twice. If they are found at the same
    event time, too, they are found in the same batch and shard.
    """

    _counts: dict[bytes, int] = field(default_factory=dict)
    """How often ids have come that are not in `_unique`."""
    _unique: list[bytes] = field(default_factory=list)
    """Ids of which each has come once, one after the other."""
    _halves: set[int] = field(default_factory=set)
    """A number of each: where it is new, so is the id. Clients can make different ids share one."""

    def match_id(self, of_rule: bytes, of_find: bytes) -> str:
        """Return the id of a find, 32 hexadecimal digits.

        Args:
            of_rule: what `rule_digest` returned.
            of_find: what `find_digest` did.
        """
        together = int.from_bytes(of_rule, byteorder) ^ int.from_bytes(of_find, byteorder)
        half = together & 0xFFFF_FFFF_FFFF_FFFF
        return self._assigned(together.to_bytes(DIGEST_BYTES, byteorder), [half]).hex()

    def ids(self, of_rules: Digests, of_finds: Digests) -> bytes:
        """Return the ids of many finds, `DIGEST_BYTES` each, one after the other."""
        together = of_rules ^ of_finds
        return self._assigned(together.tobytes(), together[:, 0].tolist())

    def _assigned(self, ids: bytes, halves: Sequence[int]) -> bytes:
        known = len(self._halves)
        self._halves.update(halves)
        if len(self._halves) == known + len(halves):
            self._unique.append(ids)
            return ids
        for unique in self._unique:
            self._counts |= dict.fromkeys(_each(unique), 1)
        self._unique.clear()
        return b"".join(map(self._numbered, _each(ids)))

    def _numbered(self, first: bytes) -> bytes:
        """Count an id; return it, or another one if it has come before."""
        number = self._counts.get(first, 0)
        self._counts[first] = number + 1
        return _digest(first + number.to_bytes(4, "big")) if number else first


def _each(ids: bytes) -> Iterator[bytes]:
    return (ids[begin : begin + DIGEST_BYTES] for begin in range(0, len(ids), DIGEST_BYTES))

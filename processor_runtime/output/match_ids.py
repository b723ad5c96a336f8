"""The ids of what is found: hashes of it, so that it has the same id whenever it is found again.

identities and events as text ──MatchIds──► ids, of which equal finds have different ones

Source: RFC 7693, "The BLAKE2 Cryptographic Hash and Message Authentication Code".
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

Identity = tuple[str | int, ...]
"""What makes a find what it is beside its events: processor, version, kind, key and times."""

DIGEST_BYTES: Final = 16
"""As many has an id, which is written with hexadecimal digits."""


@dataclass(slots=True)
class MatchIds:
    """Assigns the ids of what is found in one batch of one shard; equal finds are numbered.

    Two finds can have equal content, where equal events came twice. If they are found at the same
    event time, too, they are found in the same batch and shard.
    """

    _counts: dict[bytes, int] = field(default_factory=dict)
    """How often each digest has come."""

    def match_id(self, identity: Identity, events_json: str) -> str:
        """Return the id of a find, 32 hexadecimal digits.

        Args:
            identity: what makes it what it is beside its events.
            events_json: its events by step, as JSON.
        """
        return self.digests([f"{identity!r}{events_json}".encode()])[0].hex()

    def digests(self, texts: Sequence[bytes | memoryview]) -> list[bytes]:
        """Return the ids of many finds as bytes.

        Args:
            texts: of each find its identity, followed by its events.
        """
        digests = [blake2b(text, digest_size=DIGEST_BYTES).digest() for text in texts]
        new = dict.fromkeys(digests, 1)
        if len(new) == len(digests) and self._counts.keys().isdisjoint(new):
            self._counts |= new
            return digests
        return [self._numbered(*each) for each in zip(digests, texts, strict=True)]

    def _numbered(self, digest: bytes, text: bytes | memoryview) -> bytes:
        """Count a digest; return it, or that of a text with the number of equal ones before."""
        number = self._counts.get(digest, 0)
        self._counts[digest] = number + 1
        if not number:
            return digest
        again = blake2b(text, digest_size=DIGEST_BYTES)
        again.update(number.to_bytes(4, "big"))
        return again.digest()

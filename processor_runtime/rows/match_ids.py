"""The ids of what is found: hashes of it, so that it has the same id whenever it is found again.

identity, events ──MatchIds──► id · digests of thousands ──► those that are numbered
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

import numpy as np
from numpy.typing import NDArray

Identity = tuple[str | int, ...]
"""What makes a find what it is beside its events: processor, version, kind, key and times."""
Digests = NDArray[np.uint8]
"""Of many finds, one after the other."""

DIGEST_BYTES: Final = 16
"""As many has an id, which is written with hexadecimal digits."""
_DIGEST_WORDS: Final = 2


@dataclass(slots=True)
class MatchIds:
    """Assigns the ids of what is found in one batch of one shard; equal finds are numbered.

    Two finds can have equal content, where equal events came twice. If they are found at the same
    event time, too, they are found in the same batch and shard.

    How often a digest has come is counted in a dict. As long as thousands come at once and all of
    them are different, only a table of their first words is kept: counting takes ten times as long.
    """

    _counts: dict[bytes, int] = field(default_factory=dict)
    _different: list[Digests] = field(default_factory=list)
    """Those that are in `_words` and not counted; each has come once."""
    _words: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))

    def match_id(self, identity: Identity, events_json: str) -> str:
        """Return the id of a find, 32 hexadecimal digits.

        Args:
            identity: what makes it what it is beside its events.
            events_json: its events by step, as JSON.
        """
        self._count_different()
        digest = blake2b(f"{identity!r}{events_json}".encode(), digest_size=DIGEST_BYTES)
        content = digest.digest()
        if number := self._earlier(content):
            digest.update(_number_bytes(number))
        return digest.hexdigest()

    def numbered(
        self, digests: Digests, text: Callable[[int], bytes]
    ) -> Iterator[tuple[int, bytes]]:
        """Yield the ids of those of many finds that are not the digest of their text.

        Args:
            digests: of texts, which are identities and the JSON of events.
            text: returns the text of a find, by its place.
        """
        if not self._counts and self._are_different(digests):
            return
        self._count_different()
        for place, content in enumerate(_contents(digests)):
            if number := self._earlier(content):
                numbered = text(place) + _number_bytes(number)
                yield place, blake2b(numbered, digest_size=DIGEST_BYTES).digest()

    def _earlier(self, content: bytes) -> int:
        """Count a digest; return how often it has come before."""
        number = self._counts.get(content, 0)
        self._counts[content] = number + 1
        return number

    def _are_different(self, digests: Digests) -> bool:
        """Return whether all digests are different, from those before, too; if so, keep them."""
        # Only here, as numba is an extra, and takes half a second to import.
        from cep.nfa_kernel.word_set import add_words  # noqa: PLC0415

        words = np.ascontiguousarray(digests.view(np.uint64)[::_DIGEST_WORDS])
        count = sum(map(len, self._different)) // DIGEST_BYTES
        self._words, are_new = add_words(self._words, count, words)
        if are_new:
            self._different.append(digests.copy())
        return are_new

    def _count_different(self) -> None:
        """Count all that have only been kept."""
        for digests in self._different:
            self._counts |= dict.fromkeys(_contents(digests), 1)
        self._different.clear()
        self._words = np.empty(0, np.uint64)


def _contents(digests: Digests) -> list[bytes]:
    contents: list[bytes] = digests.view(f"V{DIGEST_BYTES}").tolist()
    return contents


def _number_bytes(number: int) -> bytes:
    return number.to_bytes(4, "big")

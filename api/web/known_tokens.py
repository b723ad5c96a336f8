"""Tokens that were valid lately, by their SHA-256: whom not to take for a guesser of tokens.

Being known here lets nobody in; the store is asked at every request. Only the metrics of the
process are shown to whom is known here while the store cannot be asked.
"""

from collections import OrderedDict
from threading import Lock
from typing import Final

_KEPT: Final = 10_000


class KnownTokens:
    """The tokens last found valid by this process, the newest of them."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, None] = OrderedDict()
        self._lock = Lock()

    def holds(self, sha256: str) -> bool:
        """Return whether a token was valid when it was last looked up."""
        return sha256 in self._known

    def add(self, sha256: str) -> None:
        """Note that a token is valid."""
        with self._lock:
            self._known[sha256] = None
            self._known.move_to_end(sha256)
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)

    def forget(self, sha256: str) -> None:
        """Note that a token is not valid, or not any more."""
        with self._lock:
            self._known.pop(sha256, None)

"""Tokens that were valid lately, by their SHA-256: whom not to take for a guesser of tokens.

Being known here lets nobody in; the store is asked at every request. Only the metrics of the
process are shown to whom is known here while the store cannot be asked, unless the token is
confined to some streams.
"""

from collections import OrderedDict
from threading import Lock
from typing import Final

_KEPT: Final = 10_000


class KnownTokens:
    """The tokens last found valid by this process, the newest of them."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, bool] = OrderedDict()
        self._lock = Lock()

    def holds(self, sha256: str) -> bool:
        """Return whether a token was valid when it was last looked up."""
        return sha256 in self._known

    def sees_all(self, sha256: str) -> bool:
        """Return whether a token was valid then, and of all streams."""
        return self._known.get(sha256, False)

    def add(self, sha256: str, *, of_all_streams: bool) -> None:
        """Note that a token is valid, and whether it is of all streams."""
        with self._lock:
            self._known[sha256] = of_all_streams
            self._known.move_to_end(sha256)
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)

    def forget(self, sha256: str) -> None:
        """Note that a token is not valid, or not any more."""
        with self._lock:
            self._known.pop(sha256, None)

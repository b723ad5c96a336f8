"""The contents of lists that the last few snapshots name, for a job that asks for them by digest.

a snapshot's contents ──take──► KeptContents ──content──► checkpoint of the job
"""

from collections.abc import Mapping
from typing import Final

_SNAPSHOTS_KEPT: Final = 5
"""Of so many snapshots contents are there: a job may still be about to begin with an older one."""


class KeptContents:
    """Contents by digest; to be taken by one thread, and asked for by any."""

    def __init__(self) -> None:
        self._kept: list[Mapping[str, bytes]] = []

    @property
    def newest(self) -> Mapping[str, bytes]:
        """The contents of the newest snapshot."""
        return self._kept[-1] if self._kept else {}

    def take(self, contents: Mapping[str, bytes]) -> None:
        """Keep the contents of a snapshot that is about to be handed on."""
        # A new list each time: another thread may be looking through the one before.
        self._kept = [*self._kept[1 - _SNAPSHOTS_KEPT :], contents]

    def content(self, digest: str) -> bytes | None:
        """Return a content, `None` if none of the last snapshots names it."""
        for contents in reversed(self._kept):
            if digest in contents:
                return contents[digest]
        return None

"""The open connections of one server, never more than a limit: who waits makes room for who comes.

    new ─► waiting (for a head, idle, or closing) ─► busy (a request is under way) ─► waiting …

At the limit the one that has waited longest is cut off for a new one: an honest client sends its
head at once. Where all are busy, the new one is turned away.
"""

import asyncio
from typing import Final

from api.server.seldom import Seldom

_LOGGED_EVERY_SECONDS: Final = 10.0


class Connections:
    """What is open, by the transport; belongs to one event loop."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        # Dictionaries keep the order in which connections began to wait.
        self._waiting: dict[asyncio.Transport, None] = {}
        self._busy: set[asyncio.Transport] = set()
        self._log = Seldom("connections cut off or turned away at the limit", _LOGGED_EVERY_SECONDS)

    @property
    def open(self) -> int:
        """How many there are."""
        return len(self._waiting) + len(self._busy)

    def admit(self, transport: asyncio.Transport) -> bool:
        """Take a new connection in, in place of another if need be; return whether it has room."""
        if self.open >= self.limit:
            self._log.warn(limit=self.limit)
            if not self._waiting:
                return False
            longest = next(iter(self._waiting))
            del self._waiting[longest]
            longest.abort()
        self._waiting[transport] = None
        return True

    def begin_waiting(self, transport: asyncio.Transport) -> None:
        """Note that no request is under way on a connection."""
        if transport in self._busy:
            self._busy.remove(transport)
            self._waiting[transport] = None

    def begin_request(self, transport: asyncio.Transport) -> None:
        """Note that a request is under way on a connection."""
        if transport in self._waiting:
            del self._waiting[transport]
            self._busy.add(transport)

    def forget(self, transport: asyncio.Transport) -> None:
        """Note that a connection is closed."""
        self._waiting.pop(transport, None)
        self._busy.discard(transport)

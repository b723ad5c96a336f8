"""How many long-lived connections may be open at once; each holds a socket and memory."""

from collections.abc import Iterator
from contextlib import contextmanager


class TooManyConnections(Exception):
    """The largest number of connections is open; `limit` is this number."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"{limit} listeners are connected, which is the limit.")
        self.limit = limit


class ConnectionLimit:
    """Counts open connections, within one event loop."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.open = 0

    @contextmanager
    def connection(self) -> Iterator[None]:
        """Count one connection while the context is open.

        Raises:
            TooManyConnections: the largest number of connections is open.
        """
        if self.open >= self._limit:
            raise TooManyConnections(self._limit)
        self.open += 1
        try:
            yield
        finally:
            self.open -= 1

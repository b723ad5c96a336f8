"""How many may listen at once: each listener holds a connection open."""

from collections.abc import Iterator
from contextlib import contextmanager


class NoSeat(Exception):
    """As many listen as may; `limit` says how many that is."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"{limit} listeners are connected, which is the limit.")
        self.limit = limit


class Seats:
    """A fixed number of seats, used within one event loop."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.taken = 0

    @contextmanager
    def one(self) -> Iterator[None]:
        """Hold a seat while the context is open.

        Raises:
            NoSeat: all are taken.
        """
        if self.taken >= self._limit:
            raise NoSeat(self._limit)
        self.taken += 1
        try:
            yield
        finally:
            self.taken -= 1

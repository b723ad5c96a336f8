"""Turns for the workers, shared fairly: nobody who asks for many keeps the others from theirs.

    turn ─► waiting, by caller ─► running, at most `limit` ─► given back ─► the next caller

Where there are several turns, one caller has all but one of them at most: for the others there is
always one that ends soon. Who has fewest is next; among those, whoever was served longest ago.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from anyio.lowlevel import RunVar

from api.worker_threads import Overloaded

MOST_WAITING: Final = 8
"""How many tasks of one caller wait at once; each holds the body of its request meanwhile."""


class FairTurns:
    """At most `limit` turns at once; they are waited for on the event loop, and not for ever.

    Args:
        kind: what they are for, for messages.
        limit: how many there are, in one event loop.
        wait_seconds: the longest that a turn is waited for.
    """

    def __init__(self, kind: str, limit: int, wait_seconds: float) -> None:
        self._kind = kind
        self._limit = limit
        self._wait_seconds = wait_seconds
        self._queues: RunVar[_Queue] = RunVar(f"percept {kind}")

    @asynccontextmanager
    async def turn(self, caller: str) -> AsyncIterator[None]:
        """Have a turn while the context is open.

        Args:
            caller: who asks; those of one caller come in the order in which they were asked for.

        Raises:
            Overloaded: it did not come in time, or too many of the same caller wait.
        """
        queue = self._queue_of_this_loop()
        if queue.waiting_of(caller) >= MOST_WAITING:
            raise Overloaded(f"{MOST_WAITING} requests of the same token wait for {self._kind}.")
        try:
            async with asyncio.timeout(self._wait_seconds):
                await queue.take(caller)
        except TimeoutError:
            raise Overloaded(
                f"There was no turn for {self._kind} within {self._wait_seconds:g} seconds."
            ) from None
        try:
            yield
        finally:
            queue.give_back(caller)

    def _queue_of_this_loop(self) -> "_Queue":
        queue = self._queues.get(None)
        if queue is None:
            queue = _Queue(self._limit)
            self._queues.set(queue)
        return queue


class _Queue:
    """Who has a turn and who waits for one; belongs to one event loop."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._limit_of_one = max(1, limit - 1)
        self._running = Counter[str]()
        # In the order in which callers were last served, or began to wait.
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    def waiting_of(self, caller: str) -> int:
        """Return how many turns a caller waits for."""
        return len(self._waiting.get(caller, ()))

    async def take(self, caller: str) -> None:
        """Wait for a turn."""
        granted = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(caller, deque()).append(granted)
        self._grant()
        try:
            await granted
        except asyncio.CancelledError:
            if not granted.cancelled():  # it was granted at that very moment
                self.give_back(caller)
            else:
                self._forget(caller, granted)
            raise

    def give_back(self, caller: str) -> None:
        """End a turn; the next one begins."""
        self._running[caller] -= 1
        if not self._running[caller]:
            del self._running[caller]
        self._grant()

    def _grant(self) -> None:
        while self._running.total() < self._limit and (caller := self._next()) is not None:
            waiting = self._waiting.pop(caller)
            granted = waiting.popleft()
            if waiting:
                self._waiting[caller] = waiting  # behind the others now
            if not granted.done():
                self._running[caller] += 1
                granted.set_result(None)

    def _next(self) -> str | None:
        allowed = (each for each in self._waiting if self._running[each] < self._limit_of_one)
        return min(allowed, key=self._running.__getitem__, default=None)

    def _forget(self, caller: str, given_up: asyncio.Future[None]) -> None:
        waiting = self._waiting.get(caller, deque())
        with suppress(ValueError):  # it was passed over when turns were granted
            waiting.remove(given_up)
        if not waiting:
            self._waiting.pop(caller, None)

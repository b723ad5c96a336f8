"""Threads for blocking work: a bounded number of each kind; what finds none free waits its turn.

Turns are waited for on the event loop, where waiting takes no thread, and not for ever: a service
that cannot keep up says so instead of hanging.
"""

import asyncio
from collections.abc import Callable
from typing import TypeVar

import anyio.to_thread
from anyio import CapacityLimiter
from anyio.lowlevel import RunVar

Result = TypeVar("Result")


class Overloaded(Exception):
    """Work was not begun: too much of its kind was under way, for too long."""


class WorkerThreads:
    """At most `limit` threads for one kind of work.

    Args:
        kind: what they do, for messages.
        limit: how many may work at once, in one event loop.
        wait_seconds: the longest that work waits for its turn.
    """

    def __init__(self, kind: str, limit: int, wait_seconds: float) -> None:
        self.kind = kind
        self._limit = limit
        self._wait_seconds = wait_seconds
        self._turns: RunVar[CapacityLimiter] = RunVar(f"percept {kind}")

    async def run(self, work: Callable[[], Result]) -> Result:
        """Do the work in a thread and return its result; turns are taken in the order of arrival.

        Raises:
            Overloaded: the turn did not come in time; the work was not begun.
        """
        turns = self._turns_of_this_loop()
        turn = object()
        try:
            async with asyncio.timeout(self._wait_seconds):
                await turns.acquire_on_behalf_of(turn)
        except TimeoutError:
            raise Overloaded(
                f"There was no turn for {self.kind} within {self._wait_seconds:g} seconds."
            ) from None
        try:
            # A limit of its own: the turn is what bounds the number of threads.
            return await anyio.to_thread.run_sync(work, limiter=CapacityLimiter(1))
        finally:
            turns.release_on_behalf_of(turn)

    def _turns_of_this_loop(self) -> CapacityLimiter:
        turns = self._turns.get(None)
        if turns is None:
            turns = CapacityLimiter(self._limit)
            self._turns.set(turns)
        return turns

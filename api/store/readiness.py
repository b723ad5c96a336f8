"""Whether the store can be used now: it is asked, but never more than once at a time.

`/readyz` is open to everybody, and it and `/metrics` are asked while the store hangs, too: whoever
asks shares one question with all others, and does not wait long for its answer.
"""

import asyncio
from typing import Final

import anyio.to_thread
from anyio import CapacityLimiter

from api.store.database import Database
from api.store.unavailable import StoreUnavailable

_PATIENCE_SECONDS: Final = 2.0
_FRESH_SECONDS: Final = 1.0


class Readiness:
    """What the store said when it was last asked; `was_ready` is that answer."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._question: asyncio.Task[bool] | None = None
        self._fresh_until = 0.0
        self.was_ready = True

    async def is_ready(self) -> bool:
        """Return whether the store answered in time, and has this version's tables."""
        question = self._current_question()
        await asyncio.wait({question}, timeout=_PATIENCE_SECONDS)
        self.was_ready = question.done() and question.result()
        return self.was_ready

    def _current_question(self) -> asyncio.Task[bool]:
        loop = asyncio.get_running_loop()
        question = self._question
        if question is None or question.get_loop() is not loop or self._is_stale(question):
            question = self._question = loop.create_task(self._ask())
        return question

    def _is_stale(self, question: asyncio.Task[bool]) -> bool:
        return question.done() and question.get_loop().time() >= self._fresh_until

    async def _ask(self) -> bool:
        try:
            # A thread of its own: readiness is known also while requests keep all others busy.
            ready = await anyio.to_thread.run_sync(
                self._database.is_ready, limiter=CapacityLimiter(1)
            )
        except StoreUnavailable:
            ready = False
        self._fresh_until = asyncio.get_running_loop().time() + _FRESH_SECONDS
        return ready

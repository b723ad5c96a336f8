"""Bodies are read within limits: of one body, of its time, and of all bodies under way together.

A body is read only after its sender has been let in (`api.routing`).
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from threading import Lock

from starlette.requests import Request

from api.web.problems import Refusal
from api.worker_threads import Overloaded


class BodyBudget:
    """How many bytes of bodies may be in memory at once, in one process."""

    def __init__(self, bytes_at_once: int) -> None:
        self._free_bytes = bytes_at_once
        self._lock = Lock()

    @contextmanager
    def share(self) -> Iterator["BudgetShare"]:
        """Yield the share of one request; what it took is given back at the end."""
        share = BudgetShare(self)
        try:
            yield share
        finally:
            self.take(-share.taken_bytes)

    def take(self, size_bytes: int) -> None:
        """Take so many bytes, or give them back.

        Raises:
            Overloaded: there are not as many left.
        """
        with self._lock:
            if size_bytes > self._free_bytes:
                raise Overloaded("Too many large requests are under way.")
            self._free_bytes -= size_bytes


class BudgetShare:
    """What one request has taken of the budget."""

    def __init__(self, budget: BodyBudget) -> None:
        self._budget = budget
        self.taken_bytes = 0

    def take(self, size_bytes: int) -> None:
        """Take so many bytes more.

        Raises:
            Overloaded: there are not as many left.
        """
        self._budget.take(size_bytes)
        self.taken_bytes += size_bytes


async def read_body(
    request: Request, share: BudgetShare, maximum_bytes: int, seconds: float
) -> bytes:
    """Return the whole body of a request.

    Args:
        request: whose body has not been read.
        share: what it may hold of the budget.
        maximum_bytes: how long it may be, whether it says so beforehand or not.
        seconds: how long it may take, however steadily it comes.

    Raises:
        Refusal: it is too long (413) or too slow (408).
        Overloaded: too many bodies are under way.
    """
    announced = request.headers.get("Content-Length", "")
    if announced.isdecimal() and int(announced[:20]) > maximum_bytes:
        raise _too_large(maximum_bytes)
    chunks = []
    try:
        async with asyncio.timeout(seconds):
            async for chunk in _limited(request, maximum_bytes):
                share.take(len(chunk))
                chunks.append(chunk)
    except TimeoutError:
        raise Refusal(
            HTTPStatus.REQUEST_TIMEOUT,
            f"The body did not arrive within {seconds:g} seconds.",
            headers={"Connection": "close"},
        ) from None
    return b"".join(chunks)


async def _limited(request: Request, maximum_bytes: int) -> AsyncIterator[bytes]:
    left_bytes = maximum_bytes
    async for chunk in request.stream():
        left_bytes -= len(chunk)
        if left_bytes < 0:
            raise _too_large(maximum_bytes)
        yield chunk


def _too_large(maximum_bytes: int) -> Refusal:
    return Refusal(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        f"The body is larger than the limit of {maximum_bytes} bytes.",
    )

"""The edge of a transaction: slices never commit.

A route that depends on `Write` is one transaction, committed before the answer is sent; one that
depends on `Read` only reads. `api.routing` runs the whole of it in one piece, in one thread:

    dependencies ─► UnitOfWork.run ─► thread: session ─► endpoint ─► commit ─► answer

While it has a connection or a lock it waits for no other thread. Were a transaction to stay open
between two of them, writers that wait for its lock could take every thread it needs to go on.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, TypeVar

from fastapi import Depends, Query, Request
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool

from api.access.authentication import Principal, authenticated
from api.runtime import CurrentRuntime, Runtime

Answer = TypeVar("Answer")


@dataclass(slots=True)
class Writing:
    """A change under way: its transaction and who makes it, when and why.

    `actor` is the name of a token and `actor_id` its id, "" for the command line.

    `new_epochs` collects what `api.streams.epochs` wrote; readers are notified after the commit.
    """

    session: Session
    actor: str
    now_ms: int
    request_id: str = ""
    comment: str = ""
    actor_id: str = ""
    new_epochs: dict[str, int] = field(default_factory=dict)
    actions: list[str] = field(default_factory=list)


class UnitOfWork:
    """What one request does with the store: it reads, or it writes, or neither."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._reading: Session | None = None
        self._writing: Writing | None = None

    def read(self) -> Session:
        """Return the session the endpoint reads with; it takes a connection when it is used."""
        self._reading = self._runtime.database.reading_session()
        return self._reading

    def write(self, principal: Principal, request_id: str, comment: str) -> Writing:
        """Return the change the endpoint makes; it takes a connection when it is used."""
        self._writing = Writing(
            self._runtime.database.writing_session(),
            principal.name,
            self._runtime.now_ms(),
            request_id,
            comment,
            principal.token_id,
        )
        return self._writing

    async def run(self, endpoint: Callable[[], Answer]) -> Answer:
        """Run the endpoint in one thread, within its transaction, and return what it returns.

        Raises:
            Overloaded: it was not begun, as too many others write.
            StoreUnavailable: the store cannot be used now.
        """
        if self._writing is not None:
            return await self._run_writing(endpoint, self._writing)
        return await run_in_threadpool(self._run_reading, endpoint)

    def _run_reading(self, endpoint: Callable[[], Answer]) -> Answer:
        if self._reading is None:
            return endpoint()
        with self._runtime.database.reading(self._reading):
            return endpoint()

    async def _run_writing(self, endpoint: Callable[[], Answer], writing: Writing) -> Answer:
        def transaction() -> Answer:
            with self._runtime.database.writing(writing.session):
                return endpoint()

        answer = await self._runtime.writers.run(transaction)
        for action in writing.actions:
            self._runtime.metrics.changes.labels(action).inc()
        for stream, epoch in writing.new_epochs.items():
            self._runtime.metrics.epochs.labels(stream).set(epoch)
            self._runtime.bell.ring(stream)
        return answer


async def _unit_of_work(runtime: CurrentRuntime) -> UnitOfWork:
    return UnitOfWork(runtime)


# One for each request: FastAPI asks for it once and hands it to all that depend on it.
CurrentUnitOfWork = Annotated[UnitOfWork, Depends(_unit_of_work)]


async def _reading(unit: CurrentUnitOfWork) -> Session:
    return unit.read()


async def _writing(
    request: Request,
    unit: CurrentUnitOfWork,
    principal: Annotated[Principal, Depends(authenticated)],
    comment: Annotated[
        str, Query(max_length=1_000, pattern=r"^[^\x00]*$", description="Why; kept in the log.")
    ] = "",
) -> Writing:
    return unit.write(principal, request.state.request_id, comment)


Read = Annotated[Session, Depends(_reading)]
Write = Annotated[Writing, Depends(_writing)]

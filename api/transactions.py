"""The edge of a transaction: slices never commit.

A route that depends on `Write` is one transaction, committed before the answer is sent; one that
depends on `Read` only reads. `api.routing` runs the whole of it in one piece, in one thread:

    dependencies ─► UnitOfWork.run ─► thread: session ─► endpoint ─► commit ─► answer

A change under an idempotency key keeps its answer in the same transaction (`api.idempotency`).

While it has a connection or a lock it waits for no other thread. Were a transaction to stay open
between two of them, writers that wait for its lock could take every thread it needs to go on.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Query, Request, Response
from fastapi.encoders import jsonable_encoder
from fastapi.responses import JSONResponse
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool

from api.access.authentication import Principal, authenticated
from api.idempotency.answers import ClaimedAlready, claim, keep, kept_answer
from api.idempotency.requests import IdempotencyKey, KeyedRequest
from api.runtime import CurrentRuntime, Runtime

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class ApprovedChange:
    """A change of one processor or list that as many have approved as its stream asks for.

    Made by `api.proposals` alone, once it has counted them; `told` says in the log who they were.
    One of `processor_id` and `list_name` is "".
    """

    processor_id: str
    list_name: str
    told: str


@dataclass(slots=True)
class Writing:
    """A change under way: its transaction and who makes it, when and why.

    `actor` is the name of a token and `actor_id` its id, "" for the command line. `approved` is the
    proposal that is published by it, if one is. `answer_is_secret` is set where what is answered
    must not be kept in the store. With `one_epoch` all changes of a stream are one epoch.

    `new_epochs` collects what `api.streams.epochs` wrote; readers are notified after the commit.
    """

    session: Session
    actor: str
    now_ms: int
    request_id: str = ""
    comment: str = ""
    actor_id: str = ""
    approved: ApprovedChange | None = None
    answer_is_secret: bool = False
    one_epoch: bool = False
    new_epochs: dict[str, int] = field(default_factory=dict)
    actions: list[str] = field(default_factory=list)


class UnitOfWork:
    """What one request does with the store: it reads, or it writes, or neither."""

    def __init__(self, runtime: Runtime, request: Request, response: Response) -> None:
        self._runtime = runtime
        self._request = request
        self._response = response
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

    async def run(self, endpoint: Callable[[], Answer]) -> Answer | Response:
        """Run the endpoint in one thread, within its transaction, and return what it returns.

        A change under an idempotency key is answered with a response, which is kept.

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

    async def _run_writing(
        self, endpoint: Callable[[], Answer], writing: Writing
    ) -> Answer | Response:
        keyed: KeyedRequest | None = getattr(self._request.state, "keyed_request", None)

        def transaction() -> Answer | Response:
            with self._runtime.database.writing(writing.session):
                if keyed is None:
                    return endpoint()
                claim(writing.session, keyed, writing.now_ms)
                answer = self._rendered(endpoint())
                keep(writing.session, keyed, answer, is_secret=writing.answer_is_secret)
                return answer

        try:
            answer = await self._runtime.writers.run(transaction)
        except ClaimedAlready:
            assert keyed is not None  # noqa: S101 - nothing else is claimed
            return await run_in_threadpool(self._kept, keyed)
        for action in writing.actions:
            self._runtime.metrics.changes.labels(action).inc()
        for stream, epoch in writing.new_epochs.items():
            self._runtime.metrics.epochs.labels(stream).set(epoch)
            self._runtime.bell.ring(stream)
        return answer

    def _rendered(self, answer: Any) -> Response:
        """Return an answer as FastAPI would send it, status and headers of the endpoint with it."""
        if isinstance(answer, Response):
            return answer
        route_status: int | None = self._request.scope["route"].status_code
        status = self._response.status_code or route_status or HTTPStatus.OK
        headers = dict(self._response.headers)
        if answer is None:
            return Response(None, status, headers)
        return JSONResponse(jsonable_encoder(answer), status, headers)

    def _kept(self, keyed: KeyedRequest) -> Response:
        with self._runtime.database.reading() as session:
            answer = kept_answer(session, keyed, self._runtime.now_ms())
        assert answer is not None  # noqa: S101 - it was claimed, and is kept for a day
        return answer


async def _unit_of_work(
    runtime: CurrentRuntime, request: Request, response: Response
) -> UnitOfWork:
    return UnitOfWork(runtime, request, response)


# One for each request: FastAPI asks for it once and hands it to all that depend on it.
CurrentUnitOfWork = Annotated[UnitOfWork, Depends(_unit_of_work)]


async def _reading(unit: CurrentUnitOfWork) -> Session:
    return unit.read()


async def open_writing(
    request: Request,
    unit: CurrentUnitOfWork,
    principal: Annotated[Principal, Depends(authenticated)],
    comment: Annotated[
        str, Query(max_length=1_000, pattern=r"^[^\x00]*$", description="Why; kept in the log.")
    ] = "",
    _key: IdempotencyKey = None,  # read by api.routing before anything else is
) -> Writing:
    """Return the change that the endpoint makes; routes that depend on it may be given a key."""
    return unit.write(principal, request.state.request_id, comment)


Read = Annotated[Session, Depends(_reading)]
Write = Annotated[Writing, Depends(open_writing)]

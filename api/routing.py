"""The router every slice uses: who asks is let in before the body is read, then the endpoint runs.

    request ─► token, role, rate ─► its streams ─► parameters ─► body: read, parsed, checked
            ─► answered before under its idempotency key? ─► dependencies
            ─► unit of work: endpoint, in one thread, its transaction with it ─► answer
            ─► is it what the caller has already?

A token that is confined to some streams may use what slices have said is for them, too: what they
read and write there belongs to streams, and `api.store.confinement` shows it those of its own.

A plain function is run by `UnitOfWork.run`; an endpoint is a coroutine function only where it waits
for events, and then it opens no transaction.
"""

import email.message
import functools
import inspect
import re
from collections.abc import Callable, Collection, Coroutine, Iterator
from http import HTTPStatus
from typing import Any, Final

from fastapi import APIRouter, Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect
from starlette.responses import StreamingResponse

from api.access.authentication import Principal, Requires
from api.access.confined import require_all_streams, require_stream
from api.idempotency.answers import kept_answer
from api.idempotency.requests import keyed_request
from api.runtime import Runtime
from api.transactions import CurrentUnitOfWork, UnitOfWork, open_writing
from api.web.bodies import BudgetShare, read_body
from api.web.json_bodies import parsed_body
from api.web.known_answers import unless_known
from api.web.problems import Refusal, escaped, invalid
from cep.expression.errors import near_name
from contract.service.problems import Flaw

# What anybody may send, such as a token to sign in with.
_OPEN_BODY_BYTES: Final = 4_096
# Up to here a body is read on the event loop: sooner than a thread would begin with it.
_SHORT_BODY_BYTES: Final = 8_192

_STREAM_IN_PATH: Final = re.compile(r"/streams/\{(\w+)\}")

_Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class SliceRoute(APIRoute):
    """A route of a slice; unknown query parameters are refused.

    A misspelt filter that is ignored would show everything.
    """

    for_confined = False
    """Whether tokens that are confined to some streams may use it."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        if not inspect.iscoroutinefunction(endpoint) and not inspect.isasyncgenfunction(endpoint):
            endpoint = _as_unit_of_work(endpoint)
        super().__init__(path, endpoint, **options)
        assert self.methods is not None  # noqa: S101 - FastAPI sets them
        if "GET" in self.methods:
            self.methods.add("HEAD")

    def get_route_handler(self) -> _Handler:
        """Return the handler: FastAPI's own, behind what is checked before."""
        handler = super().get_route_handler()
        known = frozenset(_query_names(self.dependant))
        required = next(_requirements(self.dependant), None)
        writes = _depends_on(self.dependant, open_writing)
        stream_in_path = _STREAM_IN_PATH.search(self.path)

        async def handle(request: Request) -> Response:
            response = unless_known(request, await admit(request))
            return _without_body(response) if request.method == "HEAD" else response

        async def admit(request: Request) -> Response:
            runtime: Runtime = request.app.state.runtime
            if required is not None:
                await required.admit(request, runtime)
                require_streams(request.state.principal, request)
            if unknown := [name for name in request.query_params if name not in known]:
                raise invalid("request", [_unknown_parameter(name, known) for name in unknown])
            if self.body_field is None:
                answered = await _answered_before(request, b"") if writes else None
                return answered or await handler(request)
            with runtime.bodies.share() as share:
                limit_bytes = runtime.settings.max_body_bytes
                if required is None:
                    limit_bytes = min(limit_bytes, _OPEN_BODY_BYTES)
                read = await self._read(request, runtime, share, limit_bytes)
                answered = await _answered_before(read, await read.body()) if writes else None
                return answered or await handler(read)

        def require_streams(principal: Principal, request: Request) -> None:
            if not self.for_confined:
                require_all_streams(principal)
            if stream_in_path is not None:
                require_stream(principal, request.path_params[stream_in_path[1]])

        return handle

    async def _read(
        self, request: Request, runtime: Runtime, share: BudgetShare, limit_bytes: int
    ) -> "_ReadRequest":
        try:
            body = await read_body(request, share, limit_bytes, runtime.settings.body_seconds)
        except ClientDisconnect:
            raise Refusal(HTTPStatus.BAD_REQUEST, "The upload was interrupted.") from None
        if not body or not _is_json(request):
            return _ReadRequest(request, body, None)
        read = functools.partial(self._checked_body, body, runtime.settings.max_body_values)
        short = len(body) <= _SHORT_BODY_BYTES
        return _ReadRequest(request, body, read() if short else await runtime.parsers.run(read))

    def _checked_body(self, body: bytes, maximum_values: int) -> Any:
        """Return what a body says in the form the endpoint takes; FastAPI passes that on."""
        assert self.body_field is not None  # noqa: S101 - it is read for it only
        value = parsed_body(body, maximum_values)
        checked, errors = self.body_field.validate(value, {}, loc=("body",))
        if errors:
            raise RequestValidationError(errors)
        return checked


class ConfinedRoute(SliceRoute):
    """A route that tokens which are confined to some streams may use, too."""

    for_confined = True


class _ReadRequest(Request):
    """A request whose body has been read and checked."""

    def __init__(self, request: Request, body: bytes, checked: Any) -> None:
        super().__init__(request.scope, request.receive)
        self._body = body
        self._checked = checked

    async def json(self) -> Any:
        return self._checked


def slice_router(prefix: str, tag: str, *, for_confined: bool = False) -> APIRouter:
    """Return the router of one slice.

    Args:
        prefix: what its paths begin with.
        tag: its name in the description of the API.
        for_confined: whether tokens that are confined to some streams may use it: all that it reads
            and writes belongs to streams, or to nobody.
    """
    route_class = ConfinedRoute if for_confined else SliceRoute
    return APIRouter(prefix=prefix, tags=[tag], route_class=route_class)


async def _answered_before(request: Request, body: bytes) -> Response | None:
    """Return the answer of then to a change that was made under this key of its author.

    Raises:
        Refusal: the key was that of another request (422), or the answer was not kept (409).
    """
    principal: Principal = request.state.principal  # whoever changes anything has a token
    keyed = keyed_request(request, principal.token_id, body)
    if keyed is None:
        return None
    request.state.keyed_request = keyed  # claimed by the unit of work
    runtime: Runtime = request.app.state.runtime

    def kept() -> Response | None:
        with runtime.database.reading() as session:
            return kept_answer(session, keyed, runtime.now_ms())

    return await run_in_threadpool(kept)


def _as_unit_of_work(endpoint: Callable[..., Any]) -> Callable[..., Coroutine[Any, Any, Any]]:
    """Return a coroutine function that runs an endpoint in one thread, with its transaction."""

    @functools.wraps(endpoint)
    async def run(*, unit_of_work: UnitOfWork, **arguments: Any) -> Any:
        return await unit_of_work.run(functools.partial(endpoint, **arguments))

    own = inspect.Parameter(
        "unit_of_work", inspect.Parameter.KEYWORD_ONLY, annotation=CurrentUnitOfWork
    )
    signature = inspect.signature(endpoint)
    parameters = [
        each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in signature.parameters.values()
    ]
    # FastAPI reads from it what to hand over.
    run.__signature__ = signature.replace(parameters=[*parameters, own])  # type: ignore[attr-defined]
    return run


def _without_body(response: Response) -> Response:
    """Return the answer to HEAD; what would be streamed is not even begun."""
    if not isinstance(response, StreamingResponse):
        return response  # the server leaves its body out
    head = Response(status_code=response.status_code)
    head.raw_headers = response.raw_headers
    return head


def _is_json(request: Request) -> bool:
    message = email.message.Message()
    message["content-type"] = request.headers.get("Content-Type", "")
    subtype = message.get_content_subtype()
    is_json = subtype == "json" or subtype.endswith("+json")
    return is_json and message.get_content_maintype() == "application"


def _requirements(dependant: Dependant) -> Iterator[Requires]:
    if isinstance(dependant.call, Requires):
        yield dependant.call
    for dependency in dependant.dependencies:
        yield from _requirements(dependency)


def _depends_on(dependant: Dependant, call: Callable[..., Any]) -> bool:
    return dependant.call is call or any(
        _depends_on(dependency, call) for dependency in dependant.dependencies
    )


def _query_names(dependant: Dependant) -> Iterator[str]:
    yield from (parameter.alias for parameter in dependant.query_params)
    for dependency in dependant.dependencies:
        yield from _query_names(dependency)


def _unknown_parameter(name: str, known: Collection[str]) -> Flaw:
    return Flaw(
        pointer=f"query/{escaped(name)}",
        detail="This parameter is not known here.",
        remedy=near_name(name, known) or f"Known: {', '.join(sorted(known)) or 'none'}.",
    )

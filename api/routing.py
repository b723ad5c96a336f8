"""The router every slice uses: an endpoint is one unit of work, and JSON bodies are checked.

A plain function is run by `UnitOfWork.run`, its transaction with it; it is a coroutine function
only where it waits for events, and then it opens no transaction.

JSON may hold NUL characters, halves of surrogate pairs, numbers beyond every column, keys given
twice and nesting without end; all are refused here, once, with a pointer.
"""

import functools
import inspect
import json
from collections.abc import Callable, Collection, Coroutine, Iterator, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from api.transactions import CurrentUnitOfWork, UnitOfWork
from api.web.problems import Flaw, Refusal, escaped, invalid
from cep.expression.errors import near_name

MAXIMUM_DEPTH = 60

_INTEGER_LIMIT = 2**63


class CheckedRequest(Request):
    """A request whose JSON body holds only what can be stored."""

    async def json(self) -> Any:
        """Return the body.

        Raises:
            json.JSONDecodeError: it is not JSON.
            Refusal: it holds what cannot be stored (400).
        """
        if not hasattr(self, "_json"):
            self._json = _parsed(await self.body())
        return self._json


class CheckedRoute(APIRoute):
    """A route that reads its body as `CheckedRequest` does and refuses unknown query parameters.

    A misspelt filter that is ignored would show everything.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        if not inspect.iscoroutinefunction(endpoint) and not inspect.isasyncgenfunction(endpoint):
            endpoint = _as_unit_of_work(endpoint)
        super().__init__(path, endpoint, **options)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler, given a checked request."""
        handler = super().get_route_handler()
        known = frozenset(_query_names(self.dependant))

        async def checked(request: Request) -> Response:
            if unknown := [name for name in request.query_params if name not in known]:
                raise invalid("request", [_unknown_parameter(name, known) for name in unknown])
            return await handler(CheckedRequest(request.scope, request.receive))

        return checked


def slice_router(prefix: str, tag: str) -> APIRouter:
    """Return the router of one slice."""
    return APIRouter(prefix=prefix, tags=[tag], route_class=CheckedRoute)


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


def _parsed(body: bytes) -> Any:
    try:
        value = json.loads(body.decode(), object_pairs_hook=_object, parse_constant=_constant)
    except json.JSONDecodeError:
        raise
    except UnicodeDecodeError:
        raise _refusal("", "The body is not UTF-8.", "Send JSON in UTF-8.") from None
    except RecursionError:
        raise _too_deep() from None
    except ValueError:  # a whole number of thousands of digits
        raise _refusal(
            "", "It holds a number with too many digits.", "Use a smaller one."
        ) from None
    _check(value)
    return value


def _check(body: Any) -> None:
    todo: list[tuple[tuple[str, ...], Any]] = [((), body)]
    while todo:
        path, value = todo.pop()
        if len(path) > MAXIMUM_DEPTH:
            raise _too_deep()
        match value:
            case str():
                _check_text(value, path)
            case int() if abs(value) >= _INTEGER_LIMIT:
                raise _refusal(_pointer(path), "The number is beyond 64 bits.", "Use a text.")
            case float() if value in {float("inf"), float("-inf")}:
                raise _refusal(_pointer(path), "The number is too large.", "Use a smaller one.")
            case dict():
                for key, inner in value.items():
                    _check_text(key, path)
                    todo.append(((*path, key), inner))
            case list():
                todo += [((*path, str(index)), inner) for index, inner in enumerate(value)]
            case _:
                pass


def _check_text(text: str, path: tuple[str, ...]) -> None:
    if "\x00" in text:
        raise _refusal(_pointer(path), "The text holds a NUL character.", "Take it out.")
    try:
        text.encode()
    except UnicodeEncodeError:
        detail = "The text holds half of a surrogate pair, which is no character."
        raise _refusal(_pointer(path), detail, "Take it out.") from None


def _pointer(path: Sequence[str]) -> str:
    # A key may itself be what is wrong; what cannot be written is shown as a question mark.
    written = "".join(f"/{escaped(part)}" for part in path)
    return written.encode(errors="replace").decode()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        shown = twice.encode(errors="replace").decode()
        raise _refusal("", f"The key '{shown}' is given twice in one object.", "Keep one.")
    return found


def _constant(name: str) -> Any:
    raise _refusal("", f"{name} is not JSON.", "Use null, or a number.")


def _too_deep() -> Refusal:
    detail = f"It is nested deeper than the limit of {MAXIMUM_DEPTH} levels."
    return _refusal("", detail, "Flatten it.")


def _refusal(pointer: str, detail: str, remedy: str) -> Refusal:
    flaw = Flaw(pointer=pointer, detail=detail, remedy=remedy)
    return Refusal(HTTPStatus.BAD_REQUEST, f"The body cannot be read: {detail}", [flaw])

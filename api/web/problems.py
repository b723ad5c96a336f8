"""Every refusal as an RFC 9457 problem document, with a pointer to each wrong place.

Slices raise a `Refusal`; handlers here also turn what the framework itself refuses (unknown path,
method, malformed body) into the same form, so that a client reads one kind of error only.

Source: RFC 9457, "Problem Details for HTTP APIs"; RFC 6901, "JSON Pointer".
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import Any, Final

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import Match

from cep.pattern import Problem as DocumentProblem
from cep.pattern.problems import type_remedy
from contract.service.problems import Flaw, Problem

MEDIA_TYPE: Final = "application/problem+json"

_SHOWN_FLAWS: Final = 100
_METHODS: Final = ("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT")

_INDEX = re.compile(r"\[(\d+)\]")
_KEY_END = re.compile(r"[.\[]|$")

_log = structlog.get_logger("percept.api")


class Refusal(HTTPException):
    """A request is not carried out; `status` says in which way, `flaws` where it is wrong."""

    def __init__(
        self,
        status: HTTPStatus,
        detail: str,
        flaws: Iterable[Flaw] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, detail, headers)
        self.flaws = tuple(flaws)


def not_found(what: str, name: str, remedy: str = "", *, of: str = "") -> Refusal:
    """Return the refusal for something that does not exist; `of` is what it would be part of."""
    whole = f" of {of}" if of else ""
    detail = f"{what.capitalize()} '{name}'{whole} not found. {remedy}".rstrip()
    return Refusal(HTTPStatus.NOT_FOUND, detail)


def invalid(what: str, flaws: Iterable[Flaw]) -> Refusal:
    """Return the refusal of a well-formed document with these flaws."""
    found = tuple(flaws)
    count = f"{len(found)} problem{'s' if len(found) != 1 else ''}"
    return Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, f"The {what} has {count}.", found)


def document_flaws(problems: Iterable[DocumentProblem], document: Any) -> list[Flaw]:
    """Return the problems of a document with JSON Pointers in place of their paths."""
    return [_document_flaw(problem, document) for problem in problems]


def _document_flaw(problem: DocumentProblem, document: Any) -> Flaw:
    parts = _parts(problem.path, document)
    return Flaw(
        pointer="".join(f"/{escaped(part)}" for part in parts),
        detail=problem.message,
        remedy=problem.remedy,
        line=problem.line,
        column=problem.column,
        snippet=problem.snippet,
    )


def _parts(path: str, document: Any) -> list[str]:
    """Return the keys and indexes of a path such as `steps[2].where`; keys may hold dots."""
    parts: list[str] = []
    value, rest = document, path
    while rest := rest.removeprefix("."):
        if index := _INDEX.match(rest):
            part, rest = index[1], rest[index.end() :]
            value = value[int(part)] if isinstance(value, list) else None
        else:
            keys = value if isinstance(value, Mapping) else {}
            part = _key_in_front(rest, keys)
            rest = rest[len(part) :]
            value = keys.get(part)
        parts.append(part)
    return parts


def _key_in_front(path: str, keys: Mapping[str, Any]) -> str:
    """Return the longest key that a path begins with, or what ends at its first dot or bracket."""
    ends = [end.start() for end in _KEY_END.finditer(path) if end.start() > 0]
    known = (path[:end] for end in reversed(ends) if path[:end] in keys)
    return next(known, path[: ends[0]] if ends else path)


def escaped(part: str) -> str:
    """Return one part of a JSON Pointer with its two special characters escaped."""
    return part.replace("~", "~0").replace("/", "~1")


def unescaped(part: str) -> str:
    """Return one part of a JSON Pointer as it was before `escaped`."""
    return part.replace("~1", "/").replace("~0", "~")


def problem_response(
    request: Request, status: int, detail: str, flaws: Iterable[Flaw] = ()
) -> JSONResponse:
    """Return the problem document as an answer."""
    problem = Problem(
        title=HTTPStatus(status).phrase,
        status=status,
        detail=detail,
        instance=request.url.path,
        request_id=getattr(request.state, "request_id", ""),
        errors=list(flaws),
    )
    body = problem.model_dump(exclude_none=True)
    return JSONResponse(body, status, media_type=MEDIA_TYPE)


def add_problem_handlers(app: FastAPI) -> None:
    """Make every refusal of the app, expected or not, a problem document."""
    app.add_exception_handler(HTTPException, _on_refusal)
    app.add_exception_handler(RequestValidationError, _on_invalid_request)
    app.add_exception_handler(Exception, _on_failure)


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI answers of a route that may refuse with these statuses."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {
        status: {"description": HTTPStatus(status).phrase, "content": content}
        for status in statuses
    }


async def _on_refusal(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for this type only
    flaws = error.flaws if isinstance(error, Refusal) else ()
    response = problem_response(request, error.status_code, error.detail, flaws)
    response.headers.update(error.headers or {})
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        response.headers["Allow"] = ", ".join(_methods(request))
    return response


def _methods(request: Request) -> Iterator[str]:
    """Yield the methods that an address takes; the framework tells those of its first route."""
    for method in _METHODS:
        asked = {**request.scope, "method": method}
        if any(route.matches(asked)[0] is Match.FULL for route in request.app.routes):
            yield method


async def _on_invalid_request(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for this type only
    found = error.errors()
    flaws = [
        Flaw(pointer=_pointer(each["loc"]), detail=type_remedy(each))
        for each in found[:_SHOWN_FLAWS]
    ]
    detail = f"The request has {len(found)} problem{'s' if len(found) != 1 else ''}"
    detail += f", of which {_SHOWN_FLAWS} are shown." if len(found) > _SHOWN_FLAWS else "."
    return problem_response(request, HTTPStatus.UNPROCESSABLE_ENTITY, detail, flaws)


async def _on_failure(request: Request, error: Exception) -> JSONResponse:
    _log.error("request failed", path=request.url.path, exc_info=error)
    detail = "The service failed; its log says why, under the request id."
    return problem_response(request, HTTPStatus.INTERNAL_SERVER_ERROR, detail)


def _pointer(place: tuple[int | str, ...]) -> str:
    source, *parts = place
    path = "".join(f"/{escaped(str(part))}" for part in parts)
    return path if source == "body" else f"{source}{path}"

"""Errors of the service as exceptions, with all details of the answer.

Source: RFC 9457, "Problem Details for HTTP APIs".
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import httpx2
from pydantic import ValidationError

from contract.service.problems import Flaw, Problem

_LONGEST_TEXT: Final = 500


class ServiceError(Exception):
    """A request has failed; the base class of all errors of the client.

    `status` is the HTTP status (0 = no answer), `flaws` are the problems of the document that was
    sent, `request_id` identifies the request in the log of the service.
    """

    def __init__(
        self,
        detail: str,
        *,
        status: int = 0,
        flaws: tuple[Flaw, ...] = (),
        request_id: str = "",
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.status = status
        self.flaws = flaws
        self.request_id = request_id

    def __str__(self) -> str:
        head = f"{self.status} {self.detail}" if self.status else self.detail
        if self.request_id:
            head += f" (request {self.request_id})"
        lines = [f"  {flaw}".replace("\n", "\n    ") for flaw in self.flaws]
        return "\n".join([head, *lines])


class Unreachable(ServiceError):
    """There was no answer, or none that says it; whether a change was made is not known."""


class NotAllowed(ServiceError):
    """The token is not valid (401), or its role may not do this (403)."""


class NotFound(ServiceError):
    """There is no such stream, processor or version (404)."""


class Conflict(ServiceError):
    """The current state does not allow it, such as an id that is taken (409)."""


class Outdated(ServiceError):
    """Somebody else has changed it since it was read; nothing was written (412)."""


class Invalid(ServiceError):
    """The document is wrong or too large; `flaws` says where (400, 413, 422)."""


class NotRunning(ServiceError):
    """Not every job runs the version: the timeout has passed, or a job has stopped it."""


_KINDS: Final[Mapping[int, type[ServiceError]]] = {
    HTTPStatus.BAD_REQUEST: Invalid,
    HTTPStatus.UNAUTHORIZED: NotAllowed,
    HTTPStatus.FORBIDDEN: NotAllowed,
    HTTPStatus.NOT_FOUND: NotFound,
    HTTPStatus.CONFLICT: Conflict,
    HTTPStatus.PRECONDITION_FAILED: Outdated,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: Invalid,
    HTTPStatus.UNPROCESSABLE_ENTITY: Invalid,
}


_NOBODY_KNOWS: Final = frozenset(
    {HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT}
)


def error_of(response: httpx2.Response) -> ServiceError:
    """Return the error for an answer other than 2xx."""
    problem = _problem(response)
    kind = _KINDS.get(response.status_code, ServiceError)
    if response.status_code in _NOBODY_KNOWS and "Retry-After" not in response.headers:
        kind = Unreachable
    return kind(
        problem.detail or problem.title,
        status=response.status_code,
        flaws=tuple(problem.errors),
        request_id=problem.request_id,
    )


def _problem(response: httpx2.Response) -> Problem:
    try:
        return Problem.model_validate(response.json())
    except (ValidationError, ValueError):
        # Not from the service but from something in front of it, such as a proxy.
        text = response.text.strip()[:_LONGEST_TEXT] or response.reason_phrase
        return Problem(
            title="", status=response.status_code, detail=text, instance="", request_id=""
        )


def answer_not_understood(response: httpx2.Response, reason: Any) -> ServiceError:
    """Return the error for an answer that is not from a rule service."""
    return ServiceError(
        f"{response.request.url} is not a rule service this client knows: {reason}",
        status=response.status_code,
    )

"""What is answered to a token that is confined to some streams, where it asks for more.

Of another stream it is told what it would be told of one that does not exist (404). What belongs to
no one stream, such as tokens and metrics, it may not use (403).
"""

from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

from api.access.authentication import Principal
from api.store.confinement import BeyondConfinement
from api.web.problems import Refusal, not_found, problem_response

_SHOWN_STREAMS = 5


def require_stream(principal: Principal, stream: str) -> None:
    """Let pass who may know of a stream.

    Raises:
        Refusal: the token is confined to others (404).
    """
    if principal.streams is not None and stream not in principal.streams:
        raise _no_such_stream(stream, principal.streams)


def require_all_streams(principal: Principal) -> None:
    """Let pass whose token is of all streams.

    Raises:
        Refusal: it is confined to some (403).
    """
    if principal.streams is not None:
        raise _all_streams_needed(principal.streams)


def add_confinement_handler(app: FastAPI) -> None:
    """Answer where something was to be written that a confined token does not reach."""
    app.add_exception_handler(BeyondConfinement, _on_beyond)


async def _on_beyond(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, BeyondConfinement)  # noqa: S101 - registered for this type only
    principal: Principal = request.state.principal
    streams = principal.streams or frozenset()
    if error.stream is None:
        refusal = _all_streams_needed(streams)
    else:
        refusal = _no_such_stream(error.stream, streams)
    return problem_response(request, refusal.status_code, refusal.detail)


def _no_such_stream(stream: str, streams: frozenset[str]) -> Refusal:
    return not_found("stream", stream, f"Your token is confined to: {_stream_names(streams)}.")


def _all_streams_needed(streams: frozenset[str]) -> Refusal:
    return Refusal(
        HTTPStatus.FORBIDDEN,
        "This belongs to no one stream: it takes a token of all streams. Yours is confined to: "
        f"{_stream_names(streams)}.",
    )


def _stream_names(streams: frozenset[str]) -> str:
    names = sorted(streams)
    more = len(names) - _SHOWN_STREAMS
    return ", ".join(names[:_SHOWN_STREAMS]) + (f" and {more} more" if more > 0 else "")

"""Follows the matches of a stream: server-sent events, connection after connection.

The service ends each answer after a while; the next one begins behind the last number seen, so
nothing is missed and nothing comes twice, also when the service was away in between.

Source: HTML Living Standard, 9.2 "Server-sent events".
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, get_args

import httpx2
from pydantic import ValidationError

from api.client.connection import Connection, Query
from api.client.errors import (
    Invalid,
    NotAllowed,
    NotFound,
    ServiceError,
    Unreachable,
    answer_not_understood,
)
from contract.connections import connection_trouble
from contract.reports import MatchKind
from contract.service.matches import MatchSummary

_FIRST_PAUSE_SECONDS: Final = 0.25
_LONGEST_PAUSE_SECONDS: Final = 30.0
_SILENCE_SECONDS: Final = 60.0
"""The service says something every 15 seconds; a connection that is silent for so long is dead."""

_NAMES: Final = frozenset(get_args(MatchKind))
"""Events are named by the kind of match; others are of triage."""


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event of a stream; its name, and its data as text."""

    name: str
    data: str


def server_events(lines: Iterable[str]) -> Iterator[ServerEvent]:
    """Yield the events in the lines of an answer; one that has not ended is left out."""
    name = ""
    data: list[str] = []
    for line in lines:
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            if data:
                yield ServerEvent(name or "message", "\n".join(data))
            name, data = "", []
        elif field == "event":
            name = value
        elif field == "data":
            data.append(value)


def followed(
    connection: Connection,
    path: str,
    query: Query,
    after: int | None,
    on_trouble: Callable[[ServiceError], None],
) -> Iterator[MatchSummary]:
    """Yield matches as they come, without end.

    Args:
        connection: to the service.
        path: of the events.
        query: which matches are wanted.
        after: begin behind this number; `None` = with the first that comes from now on.
        on_trouble: told whenever the connection is lost; it is then tried again.

    Raises:
        ServiceError: the first connection fails, or the service refuses a later one.
    """
    pause_seconds, has_begun = _FIRST_PAUSE_SECONDS, False
    while True:
        try:
            with connection.streaming(
                path, query={**query, "after": after}, silence_seconds=_SILENCE_SECONDS
            ) as response:
                has_begun, pause_seconds = True, _FIRST_PAUSE_SECONDS
                for event in server_events(response.iter_lines()):
                    if event.name in _NAMES:
                        match = _match(event, response)
                        after = match.number
                        yield match
        except (NotAllowed, NotFound, Invalid):
            raise
        except (ServiceError, httpx2.HTTPError) as error:
            trouble = _trouble(error, connection.url)
            if not has_begun:
                raise trouble from error
            on_trouble(trouble)
            pause_seconds = min(2 * pause_seconds, _LONGEST_PAUSE_SECONDS)
        time.sleep(pause_seconds)


def _match(event: ServerEvent, response: httpx2.Response) -> MatchSummary:
    try:
        return MatchSummary.model_validate_json(event.data)
    except ValidationError as error:
        raise answer_not_understood(response, error) from error


def _trouble(error: Exception, url: str) -> ServiceError:
    if isinstance(error, ServiceError):
        return error
    assert isinstance(error, httpx2.HTTPError)  # noqa: S101 - there is no other kind
    return Unreachable(connection_trouble(error, url, "the environment variable SSL_CERT_FILE"))

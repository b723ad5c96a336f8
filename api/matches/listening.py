"""Listeners to the matches of a stream: each receives new ones as server-sent events.

    post ─ commit ─► notifications ─► bell ─► listener ─► reads what is new ─► events

Between notifications a listener uses neither a thread nor a connection to the store. Its answer
ends after `PERCEPT_MAX_WAIT_SECONDS` and it reconnects with `Last-Event-ID`, as browsers do; so a
revoked token cannot listen without end.

Source: HTML Living Standard, 9.2 "Server-sent events".
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Final

from fastapi import Header, Path, Query
from fastapi.sse import ServerSentEvent
from starlette.concurrency import run_in_threadpool

from api.matches import repository, service
from api.matches.schemas import MatchFilter
from api.runtime import CurrentRuntime, Runtime
from api.store.unavailable import StoreUnavailable
from api.streams.service import existing_stream
from api.web.connection_limit import TooManyConnections
from api.web.problems import Refusal
from cep.definition.document import StreamName

_PAGE: Final = 100
_RETRY_MS: Final = 1_000
_RETRY_AFTER_SECONDS: Final = 10


@dataclass(frozen=True, slots=True)
class Listener:
    """One connection: of which stream, after which number, and for how long."""

    stream: str
    after: int
    seconds: float


async def new_listener(
    stream: Annotated[StreamName, Path()],
    runtime: CurrentRuntime,
    after: Annotated[
        int | None,
        Query(ge=0, lt=2**53, description="Start after this number; by default only new matches."),
    ] = None,
    last_event_id: Annotated[
        str | None,
        Header(
            pattern="^[0-9]{1,15}$",
            description="The id of the last event seen; takes precedence over `after`.",
        ),
    ] = None,
    wait: Annotated[
        str | None,
        Query(
            pattern=r"^[0-9]{1,4}(\.[0-9]{1,3})?s?$",
            description="How long to listen; by default as long as the service allows.",
            examples=["30s"],
        ),
    ] = None,
) -> AsyncIterator[Listener]:
    """Yield the listener of a request; it counts as connected until the answer has ended.

    Raises:
        Refusal: there is no such stream (404), or there are too many listeners (503).
    """
    newest = await run_in_threadpool(_newest_number, runtime, stream)
    begin = int(last_event_id) if last_event_id is not None else after
    longest_seconds = runtime.settings.max_wait_seconds
    seconds = longest_seconds if wait is None else float(wait.removesuffix("s"))
    try:
        with runtime.match_listeners.connection():
            yield Listener(
                stream,
                newest if begin is None else min(begin, newest),
                min(seconds, longest_seconds),
            )
    except TooManyConnections as refused:
        raise Refusal(
            HTTPStatus.SERVICE_UNAVAILABLE,
            str(refused),
            headers={"Retry-After": str(_RETRY_AFTER_SECONDS)},
        ) from None


async def heard(
    runtime: Runtime, listener: Listener, wanted: MatchFilter
) -> AsyncIterator[ServerSentEvent]:
    """Yield an event for each match that meets the filter, until the listener's time is over."""
    yield ServerSentEvent(comment="listening", retry=_RETRY_MS)
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + listener.seconds
    after = listener.after
    with runtime.bell.listening(service.bell_name(listener.stream)) as rung:
        while True:
            if not runtime.bell.is_closed:
                rung.clear()
            try:
                events, after, is_all = await run_in_threadpool(
                    _read, runtime, listener.stream, wanted, after
                )
            except StoreUnavailable:
                return  # it reconnects by itself and gets them then
            for event in events:
                yield event
            remaining_seconds = ends_at - loop.time()
            if remaining_seconds <= 0 or runtime.bell.is_closed:
                return
            try:
                if is_all:
                    await asyncio.wait_for(rung.wait(), remaining_seconds)
            except TimeoutError:
                continue


def _newest_number(runtime: Runtime, stream: str) -> int:
    with runtime.database.reading() as session:
        existing_stream(session, stream)
        return repository.newest_number(session, stream)


def _read(
    runtime: Runtime, stream: str, wanted: MatchFilter, after: int
) -> tuple[list[ServerSentEvent], int, bool]:
    # The newest number is read first: all matches up to it have been committed.
    with runtime.database.reading() as session:
        newest = repository.newest_number(session, stream)
        found = repository.matches_between(session, stream, wanted, after, newest, _PAGE)
    summaries = [service.match_summary(match) for match in found]
    events = [
        ServerSentEvent(
            event=summary.kind, id=str(summary.number), raw_data=summary.model_dump_json()
        )
        for summary in summaries
    ]
    is_all = len(found) < _PAGE
    return events, max(newest, after) if is_all else found[-1].number, is_all

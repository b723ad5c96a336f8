"""Listeners to the matches of a stream: each receives new ones as server-sent events.

    post, triage ─ commit ─► notifications ─► bell ─► listener ─► reads what is new ─► events

Between notifications a listener uses neither a thread nor a connection to the store. Its answer
ends after `PERCEPT_MAX_WAIT_SECONDS` and it reconnects with `Last-Event-ID`, as browsers do; so a
revoked token cannot listen without end.

Source: HTML Living Standard, 9.2 "Server-sent events".
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Final, NamedTuple

from fastapi import Header, Path, Query
from fastapi.sse import ServerSentEvent
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool

from api.matches import repository, service
from api.matches.filters import MatchFilter
from api.matches.tables import Match
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
class Position:
    """Up to where a listener has heard: a number of matches, and one of changes of them.

    `change` is `None` where changes are not wanted.
    """

    number: int
    change: int | None

    @property
    def text(self) -> str:
        """The id of an event."""
        return f"{self.number}" if self.change is None else f"{self.number}.{self.change}"


@dataclass(frozen=True, slots=True)
class Listener:
    """One connection: of which stream, after which position, and for how long."""

    stream: str
    after: Position
    seconds: float


async def new_listener(  # noqa: PLR0913, PLR0917 - what a request may say
    stream: Annotated[StreamName, Path()],
    runtime: CurrentRuntime,
    after: Annotated[
        int | None,
        Query(ge=0, lt=2**53, description="Start after this number; by default only new matches."),
    ] = None,
    changes_after: Annotated[
        int | None,
        Query(
            ge=0,
            lt=2**53,
            description="Tell of changes of triage, and of what matches stand for, too, after "
            "this one: the `newest_change` of a list.",
        ),
    ] = None,
    last_event_id: Annotated[
        str | None,
        Header(
            pattern=r"^[0-9]{1,15}(\.[0-9]{1,15})?$",
            description="The id of the last event seen; takes precedence over `after` and "
            "`changes_after`.",
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
    newest = await run_in_threadpool(_newest, runtime, stream)
    if last_event_id is not None:
        number, _, change = last_event_id.partition(".")
        after = int(number)
        changes_after = int(change) if change and changes_after is not None else changes_after
    longest_seconds = runtime.settings.max_wait_seconds
    seconds = longest_seconds if wait is None else float(wait.removesuffix("s"))
    try:
        with runtime.match_listeners.connection():
            begin = Position(
                newest.number if after is None else min(after, newest.number),
                None if changes_after is None else min(changes_after, newest.change or 0),
            )
            yield Listener(stream, begin, min(seconds, longest_seconds))
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


def _newest(runtime: Runtime, stream: str) -> Position:
    with runtime.database.reading() as session:
        existing_stream(session, stream)
        return _position(session, stream)


def _position(session: Session, stream: str) -> Position:
    number = repository.newest_number(session, stream)
    return Position(number, repository.newest_change(session, stream))


def _read(
    runtime: Runtime, stream: str, wanted: MatchFilter, after: Position
) -> tuple[list[ServerSentEvent], Position, bool]:
    with runtime.database.reading() as session:
        # The newest numbers are read first: all up to them has been committed.
        newest = _position(session, stream)
        found = repository.matches_between(
            session, stream, wanted, after.number, newest.number, _PAGE
        )
        has_all = len(found) < _PAGE
        changed: list[_Change] = []
        if has_all and after.change is not None:
            changed = _changed(session, stream, wanted, after.change, newest.change or 0)
    number = max(newest.number, after.number) if has_all else found[-1].number
    told = [(match.kind, match, Position(match.number, after.change)) for match in found]
    told += [(each.name, each.match, Position(number, each.change)) for each in changed]
    events = [_event(*each) for each in told]
    if after.change is None or not has_all:
        return events, Position(number, after.change), has_all
    has_all = len(changed) < _PAGE
    change = max(newest.change or 0, after.change) if has_all else changed[-1].change
    return events, Position(number, change), has_all


class _Change(NamedTuple):
    change: int
    name: str
    match: Match


def _changed(
    session: Session, stream: str, wanted: MatchFilter, after: int, last: int
) -> list[_Change]:
    """Return the first changes of matches in `(after, last]`, oldest first, a page at most."""
    interval = (session, stream, wanted, after, last, _PAGE)
    triaged = [
        _Change(match.triage.change, "triage", match)
        for match in repository.matches_changed(*interval)
        if match.triage is not None
    ]
    regrouped = [
        _Change(match.group_change, "group", match)
        for match in repository.matches_regrouped(*interval)
        if match.group_change is not None
    ]
    return sorted(triaged + regrouped, key=lambda each: each.change)[:_PAGE]


def _event(name: str, match: Match, position: Position) -> ServerSentEvent:
    data = service.match_summary(match).model_dump_json()
    return ServerSentEvent(event=name, id=position.text, raw_data=data)

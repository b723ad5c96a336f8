"""Matches are posted, listed, and listened to as they come."""

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import Depends, Path
from fastapi.sse import EventSourceResponse, ServerSentEvent

from api.access.authentication import Job, Viewer
from api.matches import repository, service
from api.matches.listening import Listener, heard, new_listener
from api.matches.schemas import MatchesPage, MatchFilter, MatchView
from api.routing import slice_router
from api.runtime import CurrentRuntime
from api.streams.service import existing_stream
from api.transactions import Read, Write
from api.web.paging import Cursor, Limit, decoded_cursor, encoded_cursor
from api.web.problems import documented
from cep.definition.document import StreamName
from contract.reports import MatchReceipt, MatchReport

router = slice_router("/v1/streams/{stream}/matches", "matches")

_NEWEST = 2**62

MatchIdInPath = Annotated[str, Path(pattern="^[A-Za-z0-9_-]{16,128}$")]


@router.post("", responses=documented(404))
def post_matches(
    stream: Annotated[StreamName, Path()],
    report: MatchReport,
    runtime: CurrentRuntime,
    _principal: Job,
    write: Write,
) -> MatchReceipt:
    """Add matches; those posted before are not added again, so that a batch may be repeated."""
    return service.take_report(write, stream, report, runtime.settings)


@router.get("", responses=documented(404))
def list_matches(
    stream: Annotated[StreamName, Path()],
    _principal: Viewer,
    session: Read,
    wanted: Annotated[MatchFilter, Depends()],
    cursor: Cursor = None,
    limit: Limit = 50,
) -> MatchesPage:
    """Return recent matches, newest first."""
    existing_stream(session, stream)
    newest_change = repository.newest_change(session, stream)  # first: later ones are told of
    below = decoded_cursor(cursor, int)[0] if cursor else _NEWEST
    found = repository.matches_below(session, stream, wanted, below, limit + 1)
    next_cursor = encoded_cursor(found[limit - 1].number) if len(found) > limit else None
    items = [service.match_summary(match) for match in found[:limit]]
    return MatchesPage(items=items, next_cursor=next_cursor, newest_change=newest_change)


@router.get("/stream", response_class=EventSourceResponse, responses=documented(404, 503))
async def stream_matches(
    runtime: CurrentRuntime,
    _principal: Viewer,
    listener: Annotated[Listener, Depends(new_listener)],
    wanted: Annotated[MatchFilter, Depends()],
) -> AsyncIterator[ServerSentEvent]:
    """Tell of matches as they come, by server-sent events.

    Events are named `match` or `timeout`; their data is a match as the list has it, their id its
    number. With `changes_after`, changes of triage come besides as events `triage`, whose data is
    the match as it is then, and ids are `number.change`.
    """
    async for event in heard(runtime, listener, wanted):
        yield event


@router.get("/{match_id}", responses=documented(404))
def read_match(
    stream: Annotated[StreamName, Path()],
    match_id: MatchIdInPath,
    _principal: Viewer,
    session: Read,
) -> MatchView:
    """Return a match with its events."""
    return service.match_view(service.existing_match(session, stream, match_id))

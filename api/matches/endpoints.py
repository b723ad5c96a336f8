"""Matches are posted, listed, and listened to as they come."""

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import Depends, Path, Query
from fastapi.sse import EventSourceResponse, ServerSentEvent
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from api.access.authentication import Job, Viewer
from api.matches import export, repository, service, summary
from api.matches.export import ExportFormat
from api.matches.filters import MatchFilter, MatchSort
from api.matches.listening import Listener, heard, new_listener
from api.routing import slice_router
from api.runtime import CurrentRuntime
from api.streams.service import existing_stream
from api.transactions import Read, Write
from api.web.paging import (
    Cursor,
    Limit,
    decoded_cursor,
    encoded_cursor,
)
from api.web.problems import documented
from cep.definition.document import StreamName
from contract.reports import MatchReceipt, MatchReport
from contract.service.matches import MatchesPage, MatchesSummary, MatchView

router = slice_router("/v1/streams/{stream}/matches", "matches", for_confined=True)


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
def list_matches(  # noqa: PLR0913, PLR0917 - what a request may say
    stream: Annotated[StreamName, Path()],
    _principal: Viewer,
    session: Read,
    wanted: Annotated[MatchFilter, Depends()],
    sort: Annotated[
        MatchSort,
        Query(description="`-number` = as they came, newest first; `end` = by event time."),
    ] = MatchSort.ARRIVAL_DESCENDING,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> MatchesPage:
    """Return recent matches, newest first unless another order is asked for.

    A search through many ends early: a page may have few matches or none, and yet a next one.
    """
    existing_stream(session, stream)
    newest = repository.newest_number(session, stream)  # first: later ones are told of
    newest_change = repository.newest_change(session, stream)
    types = (int, int) if sort.field == "end" else (int,)
    after = tuple(decoded_cursor(cursor, *types)) if cursor else None
    found, more = repository.matches_found(session, stream, wanted, sort, after, limit)
    next_cursor = None if more is None else encoded_cursor(*more)
    items = [service.match_summary(match) for match in found]
    return MatchesPage(
        items=items, next_cursor=next_cursor, newest=newest, newest_change=newest_change
    )


@router.get("/summary", responses=documented(404))
def summarize_matches(
    stream: Annotated[StreamName, Path()],
    _principal: Viewer,
    session: Read,
    wanted: Annotated[MatchFilter, Depends()],
) -> MatchesSummary:
    """Return how many recent matches meet a filter, over event time, by rule and by key."""
    existing_stream(session, stream)
    return summary.summary_of(session, stream, wanted)


@router.get(
    "/export",
    response_class=StreamingResponse,
    responses={
        200: {
            "content": {
                media_type.partition(";")[0]: {"schema": {"type": "string"}}
                for media_type in export.MEDIA_TYPES.values()
            }
        },
        **documented(404),
    },
)
async def export_matches(
    stream: Annotated[StreamName, Path()],
    runtime: CurrentRuntime,
    _principal: Viewer,
    wanted: Annotated[MatchFilter, Depends()],
    written: Annotated[
        ExportFormat, Query(alias="format", description="CSV, or one JSON object a line.")
    ] = "csv",
) -> StreamingResponse:
    """Return all recent matches that meet a filter as a file, newest first, without events."""
    first = await run_in_threadpool(export.read_page, runtime, stream, wanted)
    disposition = f'attachment; filename="matches-{stream}.{written}"'
    return StreamingResponse(
        export.lines(runtime, stream, wanted, written, first),
        media_type=export.MEDIA_TYPES[written],
        headers={"Content-Disposition": disposition, "Cache-Control": "no-store"},
    )


@router.get("/stream", response_class=EventSourceResponse, responses=documented(404, 503))
async def stream_matches(
    runtime: CurrentRuntime,
    _principal: Viewer,
    listener: Annotated[Listener, Depends(new_listener)],
    wanted: Annotated[MatchFilter, Depends()],
) -> AsyncIterator[ServerSentEvent]:
    """Tell of matches as they come, by server-sent events.

    Events are named by the kind of match; their data is a match as the list has it, their id its
    number. With `changes_after`, changes of triage come besides as events `triage`, and what
    matches stand for as events `group`; their data is the match as it is then, and ids are
    `number.change`.
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

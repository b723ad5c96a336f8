"""Matches are triaged, one or many; notes are added; rules are counted, labels exported."""

from http import HTTPStatus
from typing import Annotated

from fastapi import Depends, Path, Response
from starlette.concurrency import run_in_threadpool

from api.access.authentication import Author, Viewer
from api.matches.endpoints import MatchIdInPath
from api.matches.filters import MatchFilter
from api.routing import slice_router
from api.runtime import CurrentRuntime
from api.streams.service import existing_stream
from api.transactions import Read, Write
from api.triage import labels, repository, service, views
from api.triage.filters import CountFilter, LabelFilter
from api.web.paging import NEWEST, Cursor, Limit, cursor_behind, encoded_cursor, place_in
from api.web.preconditions import TAGGED, IfMatch, tagged
from api.web.problems import documented, invalid
from cep.definition.document import StreamName
from contract.service.pages import Page
from contract.service.problems import Flaw
from contract.service.triage import (
    AssigneeCount,
    BulkChange,
    NoteDocument,
    NoteView,
    RuleTriage,
    TriageChange,
    TriageResult,
    TriageView,
)

router = slice_router("/v1/streams/{stream}", "triage", for_confined=True)

StreamInPath = Annotated[StreamName, Path()]


@router.post("/triage", responses=documented(404, 409))
def triage_matches(  # noqa: PLR0913, PLR0917 - what a request may say
    stream: StreamInPath,
    change: BulkChange,
    runtime: CurrentRuntime,
    _principal: Author,
    write: Write,
    wanted: Annotated[MatchFilter, Depends()],
    cursor: Cursor = None,
    limit: Limit = 500,
) -> TriageResult:
    """Change the triage of many matches: of those listed, or of a page of those that meet a filter.

    Those listed are changed all or none. With a filter the newest `limit` are changed, and
    `next_cursor` goes on where they end.
    """
    is_filtered = wanted != MatchFilter()
    if change.matches is not None:
        if is_filtered or cursor is not None or change.up_to is not None:
            raise _ambiguous("Matches are listed, and a filter is given.")
        changed = service.change_selected(write, stream, change.matches, change, runtime.settings)
        selected = {each.match_id for each in change.matches}
        return TriageResult(changed=changed, unchanged=len(selected) - changed)
    if not is_filtered:
        raise _ambiguous("Neither are matches listed, nor is a filter given.")
    below = place_in(cursor, NEWEST)
    below = below if change.up_to is None else min(below, change.up_to + 1)
    changed, unchanged, last = service.change_found(
        write, stream, wanted, below, limit, change, runtime.settings
    )
    next_cursor = None if last is None else encoded_cursor(last)
    return TriageResult(changed=changed, unchanged=unchanged, next_cursor=next_cursor)


@router.get(
    "/matches/{match_id}/triage",
    responses={200: TAGGED, **documented(404)},
)
def read_triage(
    stream: StreamInPath,
    match_id: MatchIdInPath,
    _principal: Viewer,
    session: Read,
    response: Response,
) -> TriageView:
    """Return the triage of a match; of one that has been removed, too, as long as it is kept."""
    existing_stream(session, stream)
    triage = service.existing_triage(session, stream, match_id)
    tagged(response, service.etag(triage))
    return views.triage_view(triage)


@router.patch(
    "/matches/{match_id}/triage", responses={200: TAGGED, **documented(404, 409, 412, 428)}
)
def triage_match(  # noqa: PLR0913, PLR0917 - what a request may say
    stream: StreamInPath,
    match_id: MatchIdInPath,
    change: TriageChange,
    runtime: CurrentRuntime,
    _principal: Author,
    write: Write,
    response: Response,
    if_match: IfMatch = None,
) -> TriageView:
    """Change status and assignee of a match, and add a note."""
    triage = service.change_one(write, stream, match_id, change, if_match, runtime.settings)
    tagged(response, service.etag(triage))
    return views.triage_view(triage)


@router.get("/matches/{match_id}/notes", responses=documented(404))
def list_notes(
    stream: StreamInPath,
    match_id: MatchIdInPath,
    _principal: Viewer,
    session: Read,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[NoteView]:
    """Return the notes on a match, newest first."""
    existing_stream(session, stream)
    service.existing_triage(session, stream, match_id)
    below = place_in(cursor, NEWEST)
    found = repository.notes_below(session, stream, match_id, below, limit + 1)
    next_cursor = cursor_behind(found, limit, lambda last: (last.number,))
    return Page(items=[views.note_view(note) for note in found[:limit]], next_cursor=next_cursor)


@router.post(
    "/matches/{match_id}/notes", status_code=HTTPStatus.CREATED, responses=documented(404, 409)
)
def add_note(
    stream: StreamInPath,
    match_id: MatchIdInPath,
    note: NoteDocument,
    runtime: CurrentRuntime,
    _principal: Author,
    write: Write,
) -> NoteView:
    """Add a note to a match, in whatever state it is."""
    change = TriageChange(note=note.text)
    triage = service.change_one(write, stream, match_id, change, "*", runtime.settings)
    (added,) = repository.notes_below(
        write.session, stream, match_id, triage.note_count + 1, limit=1
    )
    return views.note_view(added)


@router.get("/triage", responses=documented(404))
def count_triage(
    stream: StreamInPath,
    _principal: Viewer,
    session: Read,
    wanted: Annotated[CountFilter, Depends()],
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[RuleTriage]:
    """Return how many matches of each rule have which status, by the id of the rule."""
    existing_stream(session, stream)
    after = place_in(cursor, "")
    found = repository.rules_after(session, stream, wanted, after, limit + 1)
    counts = views.counts_of(session, stream, found[:limit], wanted)
    items = [
        RuleTriage(processor_id=processor_id, **counts[processor_id].model_dump())
        for processor_id in found[:limit]
    ]
    next_cursor = cursor_behind(found, limit, lambda last: (last,))
    return Page(items=items, next_cursor=next_cursor)


@router.get("/triage/assignees", responses=documented(404))
def list_assignees(stream: StreamInPath, _principal: Viewer, session: Read) -> list[AssigneeCount]:
    """Return to whom matches are assigned, the most first; at most 200 names."""
    existing_stream(session, stream)
    found = repository.assignees(session, stream)
    return [AssigneeCount(value=name, count=count) for name, count in found]


@router.get(
    "/triage/labels",
    response_class=labels.CsvResponse,
    responses={
        200: {"content": {"text/csv": {"schema": {"type": "string"}}}},
        **documented(404),
    },
)
async def export_labels(
    stream: StreamInPath,
    runtime: CurrentRuntime,
    _principal: Viewer,
    wanted: Annotated[LabelFilter, Depends()],
) -> labels.CsvResponse:
    """Return what was decided about matches as CSV, in the order of event time; open ones never."""
    first = await run_in_threadpool(labels.read_page, runtime, stream, wanted)
    disposition = f'attachment; filename="labels-{stream}.csv"'
    return labels.CsvResponse(
        labels.lines(runtime, stream, wanted, first),
        headers={"Content-Disposition": disposition, "Cache-Control": "no-store"},
    )


def _ambiguous(detail: str) -> Exception:
    remedy = "Give either matches in the body, or a filter in the query, as for the list."
    return invalid("request", [Flaw(pointer="/matches", detail=detail, remedy=remedy)])

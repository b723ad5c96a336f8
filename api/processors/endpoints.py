"""Processors are created, read, listed and compared."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Path, Query, Response
from sqlalchemy.orm import Session

from api.access.authentication import Author, Viewer
from api.processors import creation, repository, service, views
from api.processors.filters import ProcessorFilter, Sort
from api.processors.publishing import Checked, checked_document, may_publish
from api.processors.tables import Processor
from api.routing import slice_router
from api.runtime import CurrentRuntime
from api.transactions import Read, Write
from api.web.paging import Cursor, Limit, cursor_behind, decoded_cursor, place_in
from api.web.preconditions import CREATED, TAGGED, IfNoneMatch, not_modified, tagged
from api.web.problems import documented, invalid
from cep.definition.document import ProcessorId
from contract.service.pages import Page
from contract.service.problems import Flaw
from contract.service.processors import (
    Comparison,
    ProcessorSummary,
    ProcessorView,
    ValidationReport,
    VersionSummary,
    VersionView,
)

router = slice_router("/v1", "processors", for_confined=True)

IdInPath = Annotated[ProcessorId, Path()]
VersionInPath = Annotated[int, Path(ge=1, lt=2**31)]
VersionInQuery = Annotated[int, Query(ge=1, lt=2**31)]


@dataclass(frozen=True, slots=True)
class HowBegun:
    """What a new processor begins with."""

    paused: Annotated[bool, Query(description="Do not run it until it is resumed.")] = False
    shadow: Annotated[
        bool, Query(description="Let it run in shadow, until its rollout is promoted.")
    ] = False


@router.post("/validate", responses=documented(404))
def validate(
    _principal: Author, checked: Annotated[Checked, Depends(checked_document)]
) -> ValidationReport:
    """Check a document as a publish would, and write nothing."""
    return ValidationReport(warnings=list(checked.warnings))


@router.post("/processors", status_code=201, responses={201: CREATED, **documented(404, 409)})
def create_processor(
    principal: Author,
    write: Write,
    checked: Annotated[Checked, Depends(checked_document)],
    response: Response,
    begun: Annotated[HowBegun, Depends()],
) -> ProcessorView:
    """Add a processor. It takes the role publisher, or author if it is created paused."""
    if begun.paused and begun.shadow:
        remedy = "Create it paused, resume it, and begin a rollout; or create it in shadow."
        flaw = Flaw(pointer="query/shadow", detail="What is paused does not run.", remedy=remedy)
        raise invalid("request", [flaw])
    may_publish(principal, paused=begun.paused)
    if begun.shadow:
        processor = creation.create_in_shadow(write, checked)
    else:
        processor = creation.create(write, checked, paused=begun.paused)
    response.headers["Location"] = f"/v1/processors/{processor.id}"
    return shown(write.session, processor, response, write.now_ms)


@router.get("/processors")
def list_processors(  # noqa: PLR0913, PLR0917 - what a request may say
    runtime: CurrentRuntime,
    _principal: Viewer,
    session: Read,
    wanted: Annotated[ProcessorFilter, Depends()],
    sort: Annotated[Sort, Query(description="`-` in front = descending.")] = Sort.ID,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[ProcessorSummary]:
    """Return processors by filter and order, a page at a time."""
    after, now_ms = None, runtime.now_ms()
    if cursor is not None:
        value_type = int if sort.field.endswith("_at") else str
        after = repository.After(*decoded_cursor(cursor, value_type, str))
    found = repository.find_processors(session, wanted, sort, after, limit + 1, now_ms)
    sorted_by = repository.sort_column(sort).key
    next_cursor = cursor_behind(found, limit, lambda last: (getattr(last, sorted_by), last.id))
    return Page(items=views.summaries(session, found[:limit], now_ms), next_cursor=next_cursor)


@router.get(
    "/processors/{processor_id}",
    response_model=ProcessorView,
    responses={200: TAGGED, 304: {"description": "Unchanged."}, **documented(404)},
)
def read_processor(
    processor_id: IdInPath,
    runtime: CurrentRuntime,
    _principal: Viewer,
    session: Read,
    response: Response,
    if_none_match: IfNoneMatch = None,
) -> ProcessorView | Response:
    """Return a processor with its newest version."""
    processor = views.existing_processor(session, processor_id)
    now_ms = runtime.now_ms()
    has_begun = processor.updated_at_ms < (processor.begins_ms or 0) <= now_ms
    if not has_begun and (known := not_modified(if_none_match, service.etag(processor))):
        return known
    view = shown(session, processor, response, now_ms)
    if has_begun:  # time alone has changed the state, and the tag is that of the last change
        response.headers["Cache-Control"] = "no-store"
    return view


@router.get("/processors/{processor_id}/versions", responses=documented(404))
def list_versions(
    processor_id: IdInPath,
    _principal: Viewer,
    session: Read,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[VersionSummary]:
    """Return the versions of a processor, newest first; of a deleted one, too."""
    processor = views.existing_processor(session, processor_id, deleted_too=True)
    below = place_in(cursor, processor.latest_version + 1)
    found = repository.versions_below(session, processor_id, below, limit + 1)
    next_cursor = cursor_behind(found, limit, lambda last: (last.version,))
    items = views.version_summaries(session, processor, found[:limit])
    return Page(items=items, next_cursor=next_cursor)


@router.get("/processors/{processor_id}/versions/{version}", responses=documented(404))
def read_version(
    processor_id: IdInPath, version: VersionInPath, _principal: Viewer, session: Read
) -> VersionView:
    """Return one version, whole."""
    processor = views.existing_processor(session, processor_id, deleted_too=True)
    return views.version_view(session, processor, version)


@router.get("/processors/{processor_id}/comparison", responses=documented(404))
def compare_versions(
    processor_id: IdInPath,
    _principal: Viewer,
    session: Read,
    old: VersionInQuery,
    new: VersionInQuery,
) -> Comparison:
    """Return how any two versions differ in meaning."""
    processor = views.existing_processor(session, processor_id, deleted_too=True)
    return views.comparison(session, processor, old, new)


def shown(session: Session, processor: Processor, response: Response, now_ms: int) -> ProcessorView:
    """Return the view of a processor, its ETag set in the answer."""
    session.flush()
    tagged(response, service.etag(processor))
    return views.processor_view(session, processor, now_ms)

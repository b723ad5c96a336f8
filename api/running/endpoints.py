"""What is published is compared with what jobs really run."""

from typing import Annotated

from fastapi import Path, Query

from api.access.authentication import Viewer
from api.processors.views import existing_processor
from api.routing import slice_router
from api.running import comparison, repository
from api.runtime import CurrentRuntime
from api.streams.service import existing_stream
from api.transactions import Read
from api.web.paging import Cursor, Limit, cursor_behind, place_in
from api.web.problems import documented, not_found
from cep.definition.document import ProcessorId, StreamName
from contract.service.jobs import RunningSummary, RunningView
from contract.service.pages import Page

router = slice_router("/v1/streams/{stream}", "jobs", for_confined=True)


@router.get("/running", responses=documented(404))
def list_running(  # noqa: PLR0913, PLR0917 - what a request may say
    stream: Annotated[StreamName, Path()],
    runtime: CurrentRuntime,
    _principal: Viewer,
    session: Read,
    processor: Annotated[
        list[ProcessorId] | None, Query(max_length=500, description="Only these; may be repeated.")
    ] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[RunningSummary]:
    """Return where each processor of a stream stands in each of its jobs, by id."""
    existing_stream(session, stream)
    after = place_in(cursor, "")
    found = repository.processors_after(session, stream, processor, after, limit + 1)
    next_cursor = cursor_behind(found, limit, lambda last: (last.id,))
    items = comparison.running_summaries(
        session, stream, found[:limit], runtime.now_ms(), runtime.settings
    )
    return Page(items=items, next_cursor=next_cursor)


@router.get("/processors/{processor_id}/running", responses=documented(404))
def read_running(
    stream: Annotated[StreamName, Path()],
    processor_id: Annotated[ProcessorId, Path()],
    runtime: CurrentRuntime,
    _principal: Viewer,
    session: Read,
) -> RunningView:
    """Return what each job runs of a processor, version by version; of a deleted one, too."""
    existing_stream(session, stream)
    processor = existing_processor(session, processor_id, deleted_too=True)
    if processor.stream != stream:
        raise not_found("rule", processor_id, of=f"stream '{stream}'")
    return comparison.running_view(session, processor, runtime.now_ms(), runtime.settings)

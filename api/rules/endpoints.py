"""The rules of a stream are listed beside the job that runs them, paused and resumed in numbers."""

from typing import Annotated

from fastapi import Depends, Path, Query

from api.access.authentication import Publisher, Viewer
from api.processors.filters import SearchText
from api.routing import slice_router
from api.rules import repository, service, views
from api.rules.filters import RuleFilter, RuleSort
from api.runtime import CurrentRuntime
from api.streams.service import existing_stream
from api.transactions import Read, Write
from api.web.paging import Cursor, Limit, cursor_behind, decoded_cursor
from api.web.problems import documented
from cep.definition.document import StreamName
from contract.report_values import JobName
from contract.service.rules import RuleLabels, RuleSelection, RulesPage, SelectionResult

router = slice_router("/v1/streams/{stream}/rules", "rules", for_confined=True)

StreamInPath = Annotated[StreamName, Path()]

_TEXT_FIELDS = {"id", "owner"}


@router.get("", responses=documented(404))
def list_rules(  # noqa: PLR0913, PLR0917 - what a request may say
    stream: StreamInPath,
    runtime: CurrentRuntime,
    _principal: Viewer,
    session: Read,
    wanted: Annotated[RuleFilter, Depends()],
    job: Annotated[
        JobName | None, Query(description="Looked up in this job; left out = in the freshest one.")
    ] = None,
    sort: Annotated[RuleSort, Query(description="`-` in front = descending.")] = RuleSort.ID,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> RulesPage:
    """Return the rules of a stream by filter and order: what is published, and what a job runs."""
    existing_stream(session, stream)
    now_ms = runtime.now_ms()
    jobs = views.JobsInView(session, stream, job, now_ms, runtime.settings)
    after = None
    if cursor is not None:
        value_type = str if sort.field in _TEXT_FIELDS else int
        after = repository.After(*decoded_cursor(cursor, value_type, str))
    found = repository.find_rules(
        session, stream, wanted, jobs.chosen, sort, after, limit + 1, now_ms
    )
    next_cursor = cursor_behind(found, limit, lambda last: (last[1], last[0].id))
    shown = [processor for processor, _ in found[:limit]]
    rules = views.lines(session, stream, shown, jobs.summary, now_ms)
    tallies = repository.tallies(session, stream, wanted, jobs.chosen)
    return views.page(rules, next_cursor, tallies, wanted, jobs)


@router.get("/labels", responses=documented(404))
def list_labels(
    stream: StreamInPath,
    _principal: Viewer,
    session: Read,
    text: Annotated[
        SearchText | None, Query(description="With this text, in whatever case.")
    ] = None,
) -> RuleLabels:
    """Return the owners and tags that the rules of a stream bear, for filters."""
    existing_stream(session, stream)
    return RuleLabels(
        owners=repository.owners(session, stream, text), tags=repository.tags(session, stream, text)
    )


@router.post("/pause", responses=documented(404))
def pause_rules(
    stream: StreamInPath, selection: RuleSelection, _principal: Publisher, write: Write
) -> SelectionResult:
    """Pause several rules: all of them or, if one is not there, none."""
    return SelectionResult(changed=service.pause(write, stream, selection.ids))


@router.post("/resume", responses=documented(404))
def resume_rules(
    stream: StreamInPath, selection: RuleSelection, _principal: Publisher, write: Write
) -> SelectionResult:
    """Let several paused rules run again: all of them or, if one is not there, none."""
    return SelectionResult(changed=service.resume(write, stream, selection.ids))

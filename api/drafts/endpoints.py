"""Drafts are checked, tried on events, and written as YAML or JSON; nothing is stored."""

from fastapi import Response
from starlette.concurrency import run_in_threadpool

from api.access.authentication import Author, Viewer
from api.code.readable import readable
from api.drafts import service
from api.routing import slice_router
from api.runtime import CurrentRuntime
from api.web.problems import documented
from cep.definition.text import in_usual_order, json_text
from cep.pattern.document.yaml_writing import yaml_text
from cep.trials.reports import SampleEvents, TrialReport
from contract.service.drafts import (
    Draft,
    DraftReport,
    Rewriting,
    Rewritten,
    RowPattern,
    RowPatternDrawing,
    Trial,
)

router = slice_router("/v1/drafts", "drafts", for_confined=True)

_MINUTE_MS = 60_000


@router.post("/check")
async def check_draft(draft: Draft, principal: Author, runtime: CurrentRuntime) -> DraftReport:
    """Return what a text says and what is wrong with it, by line; checks all a publish would."""
    return await service.check(draft, principal, runtime)


@router.post("/trial", response_model=TrialReport, responses=documented(404))
async def try_draft(trial: Trial, principal: Author, runtime: CurrentRuntime) -> Response:
    """Return what a rule finds in events, and how near it came where it found nothing."""
    rule = await run_in_threadpool(service.rule_of, trial, runtime)
    found = {"events": trial.events, "let_time_pass": trial.let_time_pass}
    return _json(await service.tried(runtime, principal, "trial", rule, **found))


@router.post("/samples", response_model=SampleEvents, responses=documented(404))
async def make_samples(draft: Draft, principal: Author, runtime: CurrentRuntime) -> Response:
    """Return made-up events that might match a rule."""
    begin_ms = runtime.now_ms() - runtime.now_ms() % _MINUTE_MS
    rule = await run_in_threadpool(service.rule_of, draft, runtime)
    return _json(await service.tried(runtime, principal, "samples", rule, begin_ms=begin_ms))


@router.post("/text")
def write_draft(rewriting: Rewriting, _principal: Viewer) -> Rewritten:
    """Return a document as text, keys in the order in which people write them."""
    document = rewriting.document
    if rewriting.code == "readable":
        document = readable(document)
    service.require_draft_size(document)
    document = in_usual_order(document)
    write = json_text if rewriting.format == "json" else yaml_text
    return Rewritten(text=write([document]))


@router.post("/drawing")
def draw_row_pattern(row_pattern: RowPattern, _principal: Viewer) -> RowPatternDrawing:
    """Return what is drawn of a clause of MATCH_RECOGNIZE; names in it are not checked."""
    return service.drawing(row_pattern.match_recognize)


def _json(content: bytes) -> Response:
    return Response(content, media_type="application/json")

"""Drafts are checked, tried on events, and written as YAML or JSON; nothing is stored."""

from api.access.authentication import Author, Viewer
from api.drafts import service
from api.drafts.samples import sample_events
from api.drafts.schemas import (
    Draft,
    DraftReport,
    Rewriting,
    Rewritten,
    SampleEvents,
    Trial,
    TrialReport,
)
from api.drafts.trial import run_trial
from api.routing import slice_router
from api.runtime import CurrentRuntime
from api.web.problems import documented
from cep.definition.text import in_usual_order, json_text, yaml_text

router = slice_router("/v1/drafts", "drafts")

_MINUTE_MS = 60_000


@router.post("/check")
def check_draft(draft: Draft, principal: Author, runtime: CurrentRuntime) -> DraftReport:
    """Return what a text says and what is wrong with it, by line; checks all a publish would."""
    return service.check(draft, principal, runtime)


@router.post("/trial", responses=documented(404))
def try_draft(trial: Trial, _principal: Author, runtime: CurrentRuntime) -> TrialReport:
    """Return what a rule finds in events, and how near it came where it found nothing."""
    return run_trial(service.rule_of(trial, runtime), trial)


@router.post("/samples", responses=documented(404))
def make_samples(draft: Draft, _principal: Author, runtime: CurrentRuntime) -> SampleEvents:
    """Return made-up events that might match a rule."""
    begin_ms = runtime.now_ms() - runtime.now_ms() % _MINUTE_MS
    return SampleEvents(events=sample_events(service.rule_of(draft, runtime), begin_ms))


@router.post("/text")
def write_draft(rewriting: Rewriting, _principal: Viewer) -> Rewritten:
    """Return a document as text, keys in the order in which people write them."""
    document = in_usual_order(rewriting.document)
    write = json_text if rewriting.format == "json" else yaml_text
    return Rewritten(text=write([document]))

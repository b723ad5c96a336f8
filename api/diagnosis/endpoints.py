"""Why a rule has found nothing: its funnel, the chain from events to matches, one key, the past."""

from typing import Annotated

from fastapi import Path, Query
from sqlalchemy.orm import Session
from starlette.status import HTTP_202_ACCEPTED

from api.access.authentication import Author, Viewer
from api.backtests import questions
from api.backtests.tables import Backtest
from api.diagnosis import diagnosing, funnel, partial_matches
from api.diagnosis.explanations import explanation_view
from api.diagnosis.unregarded import unregarded
from api.processors.endpoints import IdInPath
from api.processors.views import existing_processor
from api.routing import slice_router
from api.runtime import CurrentRuntime
from api.transactions import Read, Write
from api.web.problems import documented
from contract.service.diagnosis import LONGEST_KEY, Diagnosis, Funnel, PartialMatchesOfKey
from contract.service.explanations import ExplanationRequest, ExplanationView

router = slice_router("/v1/processors/{processor_id}", "diagnosis", for_confined=True)


@router.get("/funnel", responses=documented(404))
def read_funnel(
    processor_id: IdInPath, runtime: CurrentRuntime, _principal: Viewer, session: Read
) -> Funnel:
    """Return how far partial matches get, step by step, and why they end; per job and version."""
    processor = existing_processor(session, processor_id, deleted_too=True)
    return funnel.funnel(session, processor, runtime.now_ms(), runtime.settings)


@router.get("/diagnosis", responses=documented(404))
def read_diagnosis(
    processor_id: IdInPath, runtime: CurrentRuntime, _principal: Viewer, session: Read
) -> Diagnosis:
    """Return why a rule finds nothing: the chain from events to matches, and what to do."""
    processor = existing_processor(session, processor_id, deleted_too=True)
    return diagnosing.diagnosis(session, processor, runtime.now_ms(), runtime.settings)


@router.get("/partial-matches", responses=documented(404, 409))
def read_partial_matches(
    processor_id: IdInPath,
    runtime: CurrentRuntime,
    _principal: Viewer,
    write: Write,
    key: Annotated[
        str,
        Query(
            max_length=LONGEST_KEY,
            description="The key: the value of its one column, or a JSON array of several such as "
            '["eve", 7]. Left out for a rule without `key_by`.',
        ),
    ] = "",
) -> PartialMatchesOfKey:
    """Return what is open for one key: how far it came, what it waits for, when it expires.

    The first request asks the jobs, which answer with their next batch: ask again after a second
    or two, until `answered_at` is there. They go on telling for a minute after the last request.
    """
    processor = existing_processor(write.session, processor_id)
    return partial_matches.partial_matches(write, processor, key, runtime.settings)


@router.post("/explanations", status_code=HTTP_202_ACCEPTED, responses=documented(404, 409))
def request_explanation(
    processor_id: IdInPath,
    wanted: ExplanationRequest,
    runtime: CurrentRuntime,
    _principal: Author,
    write: Write,
) -> ExplanationView:
    """Ask why a rule found no match for a key in a span; a worker that has the archive answers.

    The answer has its number, under which the report is found a moment later.
    """
    processor = existing_processor(write.session, processor_id)
    version = questions.version_asked(write.session, processor, wanted.version)
    key = partial_matches.key_of_text(wanted.key, partial_matches.key_columns(version))
    span_ms = wanted.since, wanted.until
    question = questions.ask(
        write, version, processor.stream, key, span_ms, wanted.attempts, runtime.settings
    )
    return _shown(write.session, question)


@router.get("/explanations/{number}", responses=documented(404))
def read_explanation(
    processor_id: IdInPath,
    number: Annotated[int, Path(ge=1, lt=2**53)],
    _principal: Viewer,
    session: Read,
) -> ExplanationView:
    """Return what a worker has told of a key in a span, with the same in words."""
    question = questions.existing_question(session, processor_id, number)
    return _shown(session, question)


@router.post("/explanations/{number}/cancel", responses=documented(404))
def cancel_explanation(
    processor_id: IdInPath,
    number: Annotated[int, Path(ge=1, lt=2**53)],
    _principal: Author,
    write: Write,
) -> ExplanationView:
    """Cancel a question that waits or is being answered; one that has ended stays as it is."""
    question = questions.cancel(write, processor_id, number)
    return _shown(write.session, question)


def _shown(session: Session, question: Backtest) -> ExplanationView:
    return explanation_view(question, unregarded(session, question))

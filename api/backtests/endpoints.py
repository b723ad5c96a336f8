"""Backtests are asked for, listed, shown and cancelled; workers claim, tell of and end them."""

from typing import Annotated

from fastapi import Depends, Path, Query
from starlette.status import HTTP_202_ACCEPTED

from api.access.authentication import Author, Job, Viewer
from api.backtests import repository, service, turns
from api.backtests.filters import BacktestFilter
from api.processors.checks import CheckedDocument
from api.processors.publishing import checked_document
from api.routing import slice_router
from api.runtime import CurrentRuntime
from api.transactions import Read, Write
from api.web.paging import NEWEST, Cursor, Limit, cursor_behind, place_in
from api.web.problems import documented, invalid
from cep.definition.document import StreamName
from contract.backtests import (
    BacktestClaim,
    BacktestGoesOn,
    BacktestOutcome,
    BacktestProgress,
    BacktestRelease,
    BacktestTurn,
)
from contract.service.backtests import BacktestRequest, BacktestSummary, BacktestView, Workers
from contract.service.pages import Page
from contract.service.problems import Flaw

router = slice_router("/v1/backtests", "backtests", for_confined=True)

NumberInPath = Annotated[int, Path(ge=1, lt=2**53)]


async def checked_request(
    wanted: BacktestRequest, principal: Author, runtime: CurrentRuntime
) -> CheckedDocument | None:
    """Return the document of a request, checked as for a publish; `None` if it has none.

    Raises:
        Refusal: it names both a rule and a document, or neither (422), or the document is wrong.
    """
    if (wanted.document is None) == (wanted.processor_id is None):
        raise invalid("backtest", [Flaw(pointer="", detail="Give processor_id or document.")])
    if wanted.document is None:
        return None
    if wanted.version is not None:
        flaw = Flaw(pointer="/version", detail="A document is no version.", remedy="Leave it out.")
        raise invalid("backtest", [flaw])
    return await checked_document(wanted.document, principal, runtime)


@router.post(
    "",
    status_code=HTTP_202_ACCEPTED,
    responses=documented(404, 409),
)
def request_backtest(
    wanted: BacktestRequest,
    checked: Annotated[CheckedDocument | None, Depends(checked_request)],
    _principal: Author,
    runtime: CurrentRuntime,
    write: Write,
) -> BacktestSummary:
    """Run a rule over the events of the past; a worker that has them does it, one after the other.

    The answer has its number, under which progress and result are found.
    """
    return service.summary(service.request(write, wanted, checked, runtime.settings))


@router.get("")
def list_backtests(
    _principal: Viewer,
    session: Read,
    wanted: Annotated[BacktestFilter, Depends()],
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[BacktestSummary]:
    """Return the backtests that are kept, newest first."""
    below = place_in(cursor, NEWEST)
    found = repository.backtests_below(session, wanted, below, limit + 1)
    next_cursor = cursor_behind(found, limit, lambda last: (last.number,))
    return Page(items=[service.summary(each) for each in found[:limit]], next_cursor=next_cursor)


@router.get("/workers", responses=documented(404))
def list_workers(
    stream: Annotated[StreamName, Query()],
    _principal: Viewer,
    session: Read,
    runtime: CurrentRuntime,
) -> Workers:
    """Return the workers that have the events of a stream; without any, backtests wait."""
    return service.workers(session, stream, runtime.now_ms())


@router.get("/{number}", responses=documented(404))
def read_backtest(number: NumberInPath, _principal: Viewer, session: Read) -> BacktestView:
    """Return a backtest with its result."""
    return service.view(service.existing_backtest(session, number))


@router.post("/{number}/cancel", responses=documented(404))
def cancel_backtest(number: NumberInPath, _principal: Author, write: Write) -> BacktestSummary:
    """Cancel a backtest; one that has ended stays as it is."""
    return service.summary(service.cancel(write, number))


# --- workers


@router.post("/workers/claim")
def claim_backtest(asked: BacktestClaim, _principal: Job, write: Write) -> BacktestTurn:
    """Give a worker the backtest that has waited longest, of the streams whose events it has."""
    return BacktestTurn(task=turns.claim(write, asked))


@router.post("/{number}/progress")
def tell_of_backtest(
    number: NumberInPath,
    told: BacktestProgress,
    _principal: Job,
    write: Write,
) -> BacktestGoesOn:
    """Note how far a worker is, and tell whether it is to go on; at least every 30 seconds."""
    return BacktestGoesOn(goes_on=turns.progress(write, number, told))


@router.post("/{number}/release", responses=documented(409))
def release_backtest(
    number: NumberInPath,
    given_back: BacktestRelease,
    _principal: Job,
    write: Write,
) -> BacktestSummary:
    """Take a backtest back from a worker that is to stop; another one may begin it at once."""
    return turns.release(write, number, given_back)


@router.post("/{number}/outcome", responses=documented(409))
def end_backtest(
    number: NumberInPath,
    outcome: BacktestOutcome,
    _principal: Job,
    write: Write,
) -> BacktestSummary:
    """Note what a backtest has found, or why it failed."""
    return turns.end(write, number, outcome)

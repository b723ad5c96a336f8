"""Backtests are asked for, cancelled and shown; workers run them (`turns`)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, Literal

from sqlalchemy.orm import Session

from api.audit.actions import Action
from api.audit.log import record
from api.backtests import repository
from api.backtests.tables import CANCELLED, QUEUED, RUNNING, Backtest
from api.processors.checks import CheckedDocument
from api.processors.repository import open_publications, processor_of
from api.processors.tables import ProcessorVersion
from api.processors.versions import version_in
from api.processors.views import existing_processor
from api.settings import Settings
from api.store.views import view_of
from api.streams.service import existing_stream, locked_stream
from api.transactions import Writing
from api.web.problems import Refusal, invalid, not_found
from contract.canonical import canonical_json
from contract.service.backtests import BacktestRequest, BacktestSummary, BacktestView, Workers
from contract.service.problems import Flaw

WORKER_SEEN_MS: Final = 60_000
"""A worker that has not asked for so long counts as gone."""
_MOST_WAITING: Final = 20


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the rules of a backtest: its document, and which version of the rule that is."""

    stream: str
    processor_id: str
    version: int | None
    content_hash: str
    document: Mapping[str, Any]


def request(
    writing: Writing,
    wanted: BacktestRequest,
    checked: CheckedDocument | None,
    settings: Settings,
) -> Backtest:
    """Queue a backtest.

    Args:
        writing: the transaction.
        wanted: what was asked for.
        checked: its document, if it has one.
        settings: how many are kept.

    Raises:
        Refusal: there is no such rule or version (404), the request is wrong (422), or too many
            wait (409).
    """
    if wanted.since is not None and wanted.until is not None and wanted.since >= wanted.until:
        flaw = Flaw(pointer="/until", detail="It does not come after the beginning.")
        raise invalid("backtest", [flaw])
    side = _tried(writing.session, wanted, checked)
    stream = locked_stream(writing, side.stream).name
    against = _against(writing, side.processor_id, wanted.against)
    if repository.count_waiting(writing.session, stream) >= _MOST_WAITING:
        detail = f"{_MOST_WAITING} backtests of this stream have not ended. Cancel one, or wait."
        raise Refusal(HTTPStatus.CONFLICT, detail)
    backtest = Backtest(
        stream=stream,
        processor_id=side.processor_id,
        version=side.version,
        content_hash=side.content_hash,
        against_version=None if against is None else against.version,
        document=canonical_json(side.document),
        against=None if against is None else canonical_json(against.document),
        from_ms=wanted.since,
        until_ms=wanted.until,
        closes_windows=wanted.closes_windows,
        takes_labels=wanted.takes_labels,
        state=QUEUED,
        created_at_ms=writing.now_ms,
        created_by=writing.actor,
    )
    writing.session.add(backtest)
    writing.session.flush()
    repository.forget_old(writing.session, stream, settings.backtests_per_stream)
    _record(writing, "backtest.request", backtest)
    return backtest


def cancel(writing: Writing, number: int) -> Backtest:
    """Cancel a backtest; one that has ended stays as it is.

    Raises:
        Refusal: there is none (404).
    """
    backtest = repository.locked_backtest(writing.session, number)
    if backtest is None or backtest.question is not None:
        raise _no_backtest(number)
    if end_cancelled(backtest, writing.now_ms):
        _record(writing, "backtest.cancel", backtest)
    return backtest


def end_cancelled(backtest: Backtest, now_ms: int) -> bool:
    """Cancel a backtest or a question that waits or runs; return whether it was either."""
    if backtest.state not in {QUEUED, RUNNING}:
        return False
    backtest.state = CANCELLED
    backtest.ended_at_ms = now_ms
    backtest.turn_ends_ms = None
    return True


def existing_backtest(session: Session, number: int) -> Backtest:
    """Return a backtest.

    Raises:
        Refusal: there is none (404).
    """
    backtest = repository.backtest_of(session, number)
    if backtest is None or backtest.question is not None:
        raise _no_backtest(number)
    return backtest


def summary(backtest: Backtest) -> BacktestSummary:
    """Return a line of a list."""
    return view_of(BacktestSummary, backtest, since=backtest.from_ms)


def view(backtest: Backtest) -> BacktestView:
    """Return a backtest, whole."""
    return view_of(
        BacktestView,
        backtest,
        since=backtest.from_ms,
        document=json.loads(backtest.document),
        against=None if backtest.against is None else json.loads(backtest.against),
        report=None if backtest.report is None else json.loads(backtest.report),
    )


def workers(session: Session, stream: str, now_ms: int) -> Workers:
    """Return the workers that have the events of a stream.

    Raises:
        Refusal: there is no such stream (404).
    """
    existing_stream(session, stream)
    seen = repository.workers_since(session, stream, now_ms - WORKER_SEEN_MS)
    return Workers.model_validate(
        {"workers": [{"name": each.name, "seen_at": each.seen_at_ms} for each in seen]}
    )


def _tried(session: Session, wanted: BacktestRequest, checked: CheckedDocument | None) -> _Side:
    if checked is not None:
        document = checked.document
        identity = {"id": document.id, "stream": document.stream}
        written = identity | json.loads(checked.definition)
        return _Side(document.stream, document.id, None, checked.content_hash, written)
    assert wanted.processor_id is not None  # noqa: S101 - the endpoint has seen to that
    processor = existing_processor(session, wanted.processor_id)
    number = processor.current_version if wanted.version is None else wanted.version
    return _side(processor.stream, version_in(session, processor, number))


def _against(
    writing: Writing, processor_id: str, wanted: Literal["published"] | int | None
) -> _Side | None:
    session = writing.session
    processor = processor_of(session, processor_id)
    if isinstance(wanted, int):
        existing = existing_processor(session, processor_id)
        return _side(existing.stream, version_in(session, existing, wanted))
    if wanted is None or processor is None:
        return None
    published = [
        version_in(session, processor, each.version)
        for each in open_publications(session, processor_id)
    ]
    begun = [each for each in published if (each.effective_from_ms or 0) <= writing.now_ms]
    newest = max(begun or published, key=lambda each: each.version, default=None)
    return None if newest is None else _side(processor.stream, newest)


def _side(stream: str, version: ProcessorVersion) -> _Side:
    identity = {"id": version.processor_id, "stream": stream}
    written = identity | json.loads(version.definition)
    return _Side(stream, version.processor_id, version.version, version.content_hash, written)


def _record(writing: Writing, action: Action, backtest: Backtest) -> None:
    record(
        writing,
        action,
        stream=backtest.stream,
        processor_id=backtest.processor_id,
        new_version=backtest.version,
        subject=f"{backtest.number}",
    )


def _no_backtest(number: int) -> Refusal:
    return not_found("backtest", f"{number}", "Only the newest backtests are kept.")

"""Workers take backtests in turns: claimed, told of, ended; a turn that is not told of runs out.

queued ─ claim ─► running ─ progress: goes on? ─► … ─ outcome ─► done, failed
   ▲──── release ────┤
                     └─ silent until the turn is over ─► claimed again, three times at most
"""

import json
from http import HTTPStatus
from typing import Final, cast

from sqlalchemy.orm import Session

from api.backtests import repository
from api.backtests.service import WORKER_SEEN_MS, summary
from api.backtests.tables import DONE, FAILED, QUEUED, RUNNING, Backtest
from api.list_store import repository as lists
from api.streams import repository as streams
from api.transactions import Writing
from api.triage.repository import newest_labels
from api.web.problems import Refusal, invalid
from cep.list_content import ListType
from cep.pattern import Pattern
from cep.trials.reports import SpanReport
from contract.backtests import (
    REPORT_BYTES,
    BacktestClaim,
    BacktestOutcome,
    BacktestProgress,
    BacktestRelease,
    BacktestReport,
    BacktestTask,
    KeyQuestion,
    KnownLabel,
    KnownList,
)
from contract.service.backtests import BacktestSummary
from contract.service.problems import Flaw
from contract.snapshot import StreamDefinition

TURN_MS: Final = 60_000
_MOST_ATTEMPTS: Final = 3
_MOST_LABELS: Final = 10_000


def claim(writing: Writing, asked: BacktestClaim) -> BacktestTask | None:
    """Give a worker the backtest that has waited longest, `None` if none waits."""
    session = writing.session
    known = [name for name in sorted(set(asked.streams)) if streams.stream_of(session, name)]
    for name in known:
        repository.note_worker(session, name, asked.worker, writing.now_ms)
    repository.forget_workers(session, writing.now_ms, WORKER_SEEN_MS)
    while backtest := repository.next_waiting(session, known, writing.now_ms, TURN_MS):
        if backtest.attempt < _MOST_ATTEMPTS:
            return _turn(writing, backtest, asked.worker)
        _end(writing, backtest, FAILED)
        backtest.error = (
            f"{_MOST_ATTEMPTS} workers have begun it and fell silent, the last one was "
            f"'{backtest.worker}'. It may need more memory than is available: shorten the time, "
            "or narrow the rule."
        )
        session.flush()
    return None


def progress(writing: Writing, number: int, told: BacktestProgress) -> bool:
    """Note how far a worker is; return whether it is to go on."""
    backtest = repository.locked_backtest(writing.session, number)
    if backtest is None or not _has_turn(backtest, told.worker, told.attempt):
        return False
    backtest.events_done = told.events_done
    backtest.events_total = told.events_total
    backtest.turn_ends_ms = writing.now_ms + TURN_MS
    return True


def release(writing: Writing, number: int, given_back: BacktestRelease) -> BacktestSummary:
    """Let another worker begin a backtest at once; this turn does not count.

    Raises:
        Refusal: it is not this worker's turn (409).
    """
    backtest = _of_its_turn(writing, number, given_back.worker, given_back.attempt)
    backtest.state = QUEUED
    backtest.attempt -= 1
    backtest.worker = ""
    backtest.turn_ends_ms = backtest.started_at_ms = None
    backtest.events_done = backtest.events_total = 0
    return summary(backtest)


def end(writing: Writing, number: int, outcome: BacktestOutcome) -> BacktestSummary:
    """Note how a backtest has ended.

    Raises:
        Refusal: it is not this worker's turn, as it was cancelled or given to another one (409), or
            the report is too large (422).
    """
    backtest = _of_its_turn(writing, number, outcome.worker, outcome.attempt)
    report = outcome.report
    if report is None:
        _end(writing, backtest, FAILED)
        backtest.error = outcome.error or "The worker does not say why."
        return summary(backtest)
    if isinstance(report, SpanReport) is not (backtest.question is not None):
        _end(writing, backtest, FAILED)
        backtest.error = (
            f"The worker '{outcome.worker}' has answered something else: it is of another release."
        )
        return summary(backtest)
    written = report.model_dump_json()
    if len(written) > REPORT_BYTES:
        detail = f"{len(written)} bytes; it may have {REPORT_BYTES}."
        raise invalid("report", [Flaw(pointer="/report", detail=detail)])
    _end(writing, backtest, DONE)
    backtest.report = written
    if isinstance(report, SpanReport):
        backtest.matches = report.match_count
    else:
        _note_result(backtest, report)
    return summary(backtest)


def _turn(writing: Writing, backtest: Backtest, worker: str) -> BacktestTask:
    backtest.state = RUNNING
    backtest.worker = worker
    backtest.attempt += 1
    backtest.turn_ends_ms = writing.now_ms + TURN_MS
    backtest.started_at_ms = writing.now_ms
    backtest.events_done = backtest.events_total = 0
    labels = _labels(writing.session, backtest) if backtest.takes_labels else []
    return BacktestTask(
        stream=_stream(writing.session, backtest.stream),
        number=backtest.number,
        attempt=backtest.attempt,
        document=json.loads(backtest.document),
        against=None if backtest.against is None else json.loads(backtest.against),
        from_ms=backtest.from_ms,
        until_ms=backtest.until_ms,
        closes_windows=backtest.closes_windows,
        labels=labels[:_MOST_LABELS],
        labels_are_complete=len(labels) <= _MOST_LABELS,
        lists=_lists(writing, backtest),
        question=None
        if backtest.question is None
        else KeyQuestion.model_validate_json(backtest.question),
    )


def _lists(writing: Writing, backtest: Backtest) -> list[KnownList]:
    """Return what the lists that the versions name hold by the clock."""
    documents = (text for text in (backtest.document, backtest.against) if text is not None)
    patterns = (Pattern.from_document(json.loads(text)["pattern"]) for text in documents)
    names = sorted({name for pattern in patterns for name in pattern.list_names})
    session, stream, now_ms = writing.session, backtest.stream, writing.now_ms
    found = [lists.version_in_effect(session, stream, name, now_ms) for name in names]
    return [
        KnownList(name=each.name, type=cast(ListType, each.data_type), digest=each.digest)
        for each in found
        if each is not None
    ]


def _stream(session: Session, name: str) -> StreamDefinition:
    stream = streams.stream_of(session, name)
    assert stream is not None  # noqa: S101 - a backtest is of a stream, and none is deleted
    definition = streams.definition_at(session, name, stream.epoch)
    return StreamDefinition.model_validate_json(definition or "{}")


def _labels(session: Session, backtest: Backtest) -> list[KnownLabel]:
    """Return the newest labels in the time of a backtest, one more than it gets if there are."""
    span_ms = backtest.from_ms, backtest.until_ms
    found = newest_labels(
        session, backtest.stream, backtest.processor_id, span_ms, _MOST_LABELS + 1
    )
    return [
        KnownLabel(
            match_id=each.match_id,
            key=json.loads(each.key),
            start_ms=each.start_ms,
            end_ms=each.end_ms,
            is_true=each.status != "false_positive",
        )
        for each in found
    ]


def _of_its_turn(writing: Writing, number: int, worker: str, attempt: int) -> Backtest:
    backtest = repository.locked_backtest(writing.session, number)
    if backtest is None or not _has_turn(backtest, worker, attempt):
        detail = "It was cancelled, or given to another worker."
        raise Refusal(HTTPStatus.CONFLICT, detail)
    return backtest


def _has_turn(backtest: Backtest, worker: str, attempt: int) -> bool:
    its_turn = (backtest.state, backtest.worker, backtest.attempt)
    return its_turn == (RUNNING, worker, attempt)


def _end(writing: Writing, backtest: Backtest, state: str) -> None:
    backtest.state = state
    backtest.ended_at_ms = writing.now_ms
    backtest.turn_ends_ms = None


def _note_result(backtest: Backtest, report: BacktestReport) -> None:
    """Keep what a list shows; the report of a service's backtest is of one rule."""
    for rule in report.rules:
        backtest.matches = rule.matches
        backtest.error = (rule.error or "")[:4_000]
        if rule.against is not None:
            backtest.gained, backtest.lost = rule.against.gained, rule.against.lost
    backtest.events_done = backtest.events_total = report.events

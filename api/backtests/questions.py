"""Why a rule found no match for a key in a span: asked here, answered by workers like backtests.

    ask ──► question in the queue of backtests ──turn──► worker with the archive ──► SpanReport

Only what can be answered soon is queued: without a worker that has the archive the answer is how to
start one, and a question that none has begun for ten minutes has failed.
"""

import json
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Final

from sqlalchemy.orm import Session

from api.audit.log import record
from api.backtests import repository
from api.backtests.service import WORKER_SEEN_MS, end_cancelled
from api.backtests.tables import FAILED, QUEUED, Backtest
from api.processors.repository import version_of
from api.processors.tables import Processor, ProcessorVersion
from api.settings import Settings
from api.streams.service import locked_stream
from api.transactions import Writing
from api.web.problems import Refusal, not_found
from contract.backtests import KeyQuestion
from contract.canonical import canonical_json

_MOST_WAITING: Final = 20
_WAITS_MS: Final = 600_000


def version_asked(session: Session, processor: Processor, number: int | None) -> ProcessorVersion:
    """Return the version of a rule that is asked about, by default the current one.

    Raises:
        Refusal: there is no such version (404).
    """
    wanted = processor.current_version if number is None else number
    version = version_of(session, processor.id, wanted)
    if version is None:
        raise not_found("version", f"{wanted}", of=f"rule '{processor.id}'")
    return version


def ask(  # noqa: PLR0913, PLR0917 - what a question is made of
    writing: Writing,
    version: ProcessorVersion,
    stream_name: str,
    key: Sequence[Any],
    span_ms: tuple[int, int],
    attempts: int,
    settings: Settings,
) -> Backtest:
    """Queue a question.

    Args:
        writing: the transaction.
        version: what is asked about.
        stream_name: that of its rule.
        key: the values of its key.
        span_ms: the span of event time, its end exclusive.
        attempts: how many attempts are told.
        settings: how many questions are kept.

    Raises:
        Refusal: no worker has the archive, or too many questions wait (409).
    """
    definition = json.loads(version.definition)
    session, now_ms = writing.session, writing.now_ms
    stream = locked_stream(writing, stream_name).name
    _fail_forgotten(session, stream, now_ms)
    if not repository.has_worker(session, stream, now_ms - WORKER_SEEN_MS, now_ms):
        detail = (
            f"No worker has the archive of the stream '{stream}'. Start one where its events are: "
            f"percept work --archive {stream}=PATH, with a file, a folder or a pattern as PATH."
        )
        raise Refusal(HTTPStatus.CONFLICT, detail)
    if repository.count_waiting(session, stream, repository.QUESTIONS) >= _MOST_WAITING:
        detail = f"{_MOST_WAITING} questions about this stream are not answered yet. Wait."
        raise Refusal(HTTPStatus.CONFLICT, detail)
    identity = {"id": version.processor_id, "stream": stream}
    question = Backtest(
        stream=stream,
        processor_id=version.processor_id,
        version=version.version,
        content_hash=version.content_hash,
        against_version=None,
        document=canonical_json(identity | definition),
        against=None,
        from_ms=span_ms[0],
        until_ms=span_ms[1],
        question=KeyQuestion(key=canonical_json(list(key)), attempts=attempts).model_dump_json(),
        closes_windows=False,
        takes_labels=False,
        state=QUEUED,
        created_at_ms=now_ms,
        created_by=writing.actor,
    )
    session.add(question)
    session.flush()
    repository.forget_old(session, stream, settings.backtests_per_stream, repository.QUESTIONS)
    record(
        writing,
        "explanation.request",
        stream=stream,
        processor_id=version.processor_id,
        new_version=version.version,
        subject=f"{question.number}",
    )
    return question


def existing_question(session: Session, processor_id: str, number: int) -> Backtest:
    """Return a question about a rule.

    Raises:
        Refusal: there is none (404).
    """
    found = repository.backtest_of(session, number)
    if found is None or found.question is None or found.processor_id != processor_id:
        raise not_found("explanation", f"{number}", "Only the newest are kept.")
    return found


def cancel(writing: Writing, processor_id: str, number: int) -> Backtest:
    """Cancel a question; one that has ended stays as it is.

    Raises:
        Refusal: there is none (404).
    """
    existing_question(writing.session, processor_id, number)
    question = repository.locked_backtest(writing.session, number)
    if question is None:
        raise not_found("explanation", f"{number}", "Only the newest are kept.")
    if end_cancelled(question, writing.now_ms):
        record(
            writing,
            "explanation.cancel",
            stream=question.stream,
            processor_id=processor_id,
            new_version=question.version,
            subject=f"{number}",
        )
    return question


def _fail_forgotten(session: Session, stream: str, now_ms: int) -> None:
    for question in repository.forgotten_questions(session, stream, now_ms, _WAITS_MS):
        question.state = FAILED
        question.ended_at_ms = now_ms
        question.error = "No worker has begun it within ten minutes. Ask again."
    session.flush()

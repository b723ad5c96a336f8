"""Keys that somebody asks about, handed to jobs with answers to heartbeats; what they tell.

    GET …/partial-matches ──ask──► question ──heartbeat──► job ──KeyAnswers──► answers ──► GET

A question is forgotten a minute after it was last asked, and with it the answers.
"""

import json
from collections.abc import Sequence
from hashlib import blake2b
from http import HTTPStatus
from typing import Any, Final

from sqlalchemy import ColumnElement, delete, not_, select
from sqlalchemy.orm import Session

from api.jobs.asked_key_tables import AskedKeyRow, KeyAnswerRow
from api.jobs.tables import Job
from api.processors.tables import Processor
from api.store.waits import is_over
from api.streams.service import locked_stream
from api.transactions import Writing
from api.web.problems import Refusal
from contract.asked_keys import KEYS_ASKED, AskedKey, KeyAnswer
from contract.canonical import canonical_json

ASKED_FOR_MS: Final = 60_000
"""How long jobs go on answering after the last time somebody asked."""
KEYS_OF_ONE: Final = 5
"""So many keys of a stream at once with one token: who may only look leaves others some."""


def ask(writing: Writing, processor: Processor, key: Sequence[Any]) -> AskedKeyRow:
    """Ask jobs about a key of a rule, or go on asking.

    Raises:
        Refusal: too many keys of the stream are asked about, or by this token (409).
    """
    locked_stream(writing, processor.stream)  # one question is not added twice
    session = writing.session
    expired = AskedKeyRow.stream == processor.stream, _is_forgotten(writing.now_ms)
    session.execute(delete(AskedKeyRow).where(*expired))
    text = canonical_json([processor.id, list(key)])
    asked_id = blake2b(text.encode(), digest_size=8).hexdigest()
    asked = session.get(AskedKeyRow, asked_id)
    if asked is None:
        _check_room(writing, processor.stream)
        asked = AskedKeyRow(
            id=asked_id,
            stream=processor.stream,
            processor_id=processor.id,
            key=canonical_json(list(key)),
            asked_by=writing.actor_id,
        )
        session.add(asked)
    asked.until_ms = writing.now_ms + ASKED_FOR_MS
    session.flush()
    return asked


def asked_keys(session: Session, stream: str, now_ms: int) -> list[AskedKey]:
    """Return what jobs of a stream are asked now."""
    query = (
        select(AskedKeyRow)
        .where(AskedKeyRow.stream == stream, not_(_is_forgotten(now_ms)))
        .order_by(AskedKeyRow.id)
        .limit(KEYS_ASKED)
    )
    return [
        AskedKey(id=row.id, processor_id=row.processor_id, key=json.loads(row.key))
        for row in session.scalars(query)
    ]


def take_answers(writing: Writing, job: Job, answers: Sequence[KeyAnswer]) -> int:
    """Keep what a job tells; return how much of it is about keys that are still asked about.

    An answer takes the place of the one before.
    """
    session = writing.session
    known = {each.id for each in asked_keys(session, job.stream, writing.now_ms)}
    wanted = {answer.id: answer for answer in answers if answer.id in known}
    for asked_id, answer in wanted.items():
        row = session.get(KeyAnswerRow, (asked_id, job.id))
        if row is None:
            row = KeyAnswerRow(asked_id=asked_id, job_id=job.id)
            session.add(row)
        row.answer = answer.model_dump_json()
        row.answered_at_ms = writing.now_ms
    session.flush()
    return len(wanted)


def answers_about(session: Session, asked_id: str) -> dict[str, tuple[int, KeyAnswer]]:
    """Return by job when it has answered, by the clock of the service, and what."""
    query = select(KeyAnswerRow).where(KeyAnswerRow.asked_id == asked_id)
    return {
        row.job_id: (row.answered_at_ms, KeyAnswer.model_validate_json(row.answer))
        for row in session.scalars(query)
    }


def _is_forgotten(now_ms: int) -> ColumnElement[bool]:
    return is_over(AskedKeyRow.until_ms, now_ms, ASKED_FOR_MS)


def _check_room(writing: Writing, stream: str) -> None:
    of_stream = AskedKeyRow.stream == stream, not_(_is_forgotten(writing.now_ms))
    askers = writing.session.scalars(select(AskedKeyRow.asked_by).where(*of_stream)).all()
    if askers.count(writing.actor_id) >= KEYS_OF_ONE:
        limit = f"{KEYS_OF_ONE} keys of the stream '{stream}' are asked about with this token"
    elif len(askers) >= KEYS_ASKED:
        limit = f"{KEYS_ASKED} keys of the stream '{stream}' are asked about"
    else:
        return
    detail = (
        f"{limit}, which is the limit. A key is "
        f"forgotten {ASKED_FOR_MS // 1_000} seconds after the last time it was asked about; try "
        "again then."
    )
    raise Refusal(HTTPStatus.CONFLICT, detail)

"""Answers to changes under a key: kept in the transaction of the change, given again afterwards.

    transaction: claim ─► change ─► keep ─► commit
    the same request again: kept_answer ─► the answer of then

A change that is refused is rolled back with its claim: nothing was made, and it may be sent again.
"""

import json
from http import HTTPStatus
from typing import Final

from fastapi import Response
from sqlalchemy import ColumnElement, and_, delete, func, select, tuple_
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from api.idempotency.requests import HEADER, KeyedRequest
from api.idempotency.tables import IdempotentRequest
from api.web.problems import Refusal, invalid
from contract.service.problems import Flaw

KEPT_MS: Final = 24 * 3_600_000
KEPT_PER_TOKEN: Final = 10_000
LONGEST_KEPT: Final = 262_144  # bytes of an answer

_FORGOTTEN_AT_ONCE: Final = 100
"""So much old a change forgets: more than one, so that it becomes less, and no work for long."""

_REPLAYED: Final = "Idempotent-Replayed"
# What says what an answer is about; the others are of the request, or made anew for each answer.
_KEPT_HEADERS: Final = ("ETag", "Location", "Cache-Control")


class ClaimedAlready(Exception):
    """The change has been made under this key meanwhile."""


def claim(session: Session, request: KeyedRequest, now_ms: int) -> None:
    """Take a key for the change of this transaction; another with the same key waits for it.

    Some keys of more than a day ago are forgotten, whose ever they are, and of this token those
    beyond the newest 10,000.

    Raises:
        ClaimedAlready: a change was made under it while this one waited.
    """
    table = IdempotentRequest
    is_old = table.created_at_ms <= now_ms - KEPT_MS
    of_token = table.token_id == request.token_id
    its_own = and_(of_token, table.key_sha256 == request.key_sha256, is_old)
    session.execute(delete(table).where(its_own))
    _forget(session, is_old, _FORGOTTEN_AT_ONCE)
    count = session.scalar(select(func.count()).select_from(table).where(of_token)) or 0
    _forget(session, of_token, count - KEPT_PER_TOKEN + 1)
    is_postgresql = session.get_bind().dialect.name == "postgresql"
    inserting = postgresql.insert(table) if is_postgresql else sqlite.insert(table)
    values = {
        "token_id": request.token_id,
        "key_sha256": request.key_sha256,
        "fingerprint": request.fingerprint,
        "created_at_ms": now_ms,
        "status": 0,
        "headers": "{}",
    }
    claiming = inserting.values(**values).on_conflict_do_nothing().returning(table.key_sha256)
    if session.scalar(claiming) is None:
        raise ClaimedAlready


def keep(session: Session, request: KeyedRequest, answer: Response, *, is_secret: bool) -> None:
    """Keep the answer to the change of this transaction; a secret one is not kept, nor a long one.

    Args:
        session: the transaction that has claimed the key.
        request: the change.
        answer: what is answered to it.
        is_secret: it holds what must not be in the store.
    """
    row = session.get_one(IdempotentRequest, (request.token_id, request.key_sha256))
    row.status = answer.status_code
    kept = {name: answer.headers[name] for name in _KEPT_HEADERS if name in answer.headers}
    row.headers = json.dumps(kept)
    body = bytes(answer.body)
    row.body = None if is_secret or len(body) > LONGEST_KEPT else body.decode()


def kept_answer(session: Session, request: KeyedRequest, now_ms: int) -> Response | None:
    """Return what was answered to this change, or `None` if it was not made within a day.

    Raises:
        Refusal: the key was that of another request (422), or the answer was not kept (409).
    """
    row = session.get(IdempotentRequest, (request.token_id, request.key_sha256))
    if row is None or row.created_at_ms <= now_ms - KEPT_MS:
        return None
    if row.fingerprint != request.fingerprint:
        detail = "Another request was sent with this key, within a day."
        remedy = "Take a new key for each change, and send it again with the same body only."
        raise invalid("request", [Flaw(pointer=f"header/{HEADER}", detail=detail, remedy=remedy)])
    if row.body is None:
        detail = (
            "This change has been made. Its answer was not kept, as it held a secret or was very "
            "long. Read what it has made."
        )
        raise Refusal(HTTPStatus.CONFLICT, detail)
    headers = json.loads(row.headers) | {_REPLAYED: "true"}
    media_type = "application/json" if row.body else None
    return Response(row.body, row.status, headers, media_type)


def _forget(session: Session, which: ColumnElement[bool], most: int) -> None:
    """Forget the oldest of some rows; those that another change forgets just now are left to it.

    To wait for it would be to wait for all that its stream waits for.
    """
    if most <= 0:
        return
    name = IdempotentRequest.token_id, IdempotentRequest.key_sha256
    oldest = select(*name).where(which).order_by(IdempotentRequest.created_at_ms).limit(most)
    unlocked = oldest.with_for_update(skip_locked=True)
    session.execute(delete(IdempotentRequest).where(tuple_(*name).in_(unlocked)))

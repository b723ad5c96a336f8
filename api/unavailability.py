"""What the service cannot do now is 503 with `Retry-After`, not a failure: it may be asked again.

Two who create the same at once are no failure, either: neither sees it there, the store takes one
of them, and the other one is told so (409).

`Retry-After` says besides that nothing was changed. It is missing where the connection to the store
broke during a commit: then nobody knows.
"""

import sqlite3
from http import HTTPStatus
from typing import Final

import psycopg
import structlog
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from sqlalchemy.exc import IntegrityError

from api.store.unavailable import StoreUnavailable
from api.trials.processes import Stopping
from api.web.problems import problem_response
from api.worker_threads import Overloaded

RETRY_AFTER_SECONDS: Final = 2

_NOT_NOW: Final = "The store cannot be used now. Nothing was changed; try again."
_MAY_BE_DONE: Final = (
    "The connection to the store broke while the change was written: it may have been made or not. "
    "Read it again before you repeat it."
)

_TAKEN: Final = (
    "Somebody else created the same at the same moment. Nothing was changed; read what is there."
)

_log = structlog.get_logger("percept.api")


def add_unavailability_handlers(app: FastAPI) -> None:
    """Answer 503 where the store cannot be used, or too much is under way."""
    app.add_exception_handler(StoreUnavailable, _on_store_unavailable)
    app.add_exception_handler(Overloaded, _on_overloaded)
    app.add_exception_handler(Stopping, _on_stopping)
    app.add_exception_handler(IntegrityError, _on_integrity_error)


async def _on_store_unavailable(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, StoreUnavailable)  # noqa: S101 - registered for this type only
    # The reason may name hosts and files: it is for the log, not for the client.
    _log.warning("the store cannot be used", path=request.url.path, reason=str(error))
    if error.may_be_done:
        return problem_response(request, HTTPStatus.SERVICE_UNAVAILABLE, _MAY_BE_DONE)
    return _try_again(request, _NOT_NOW)


async def _on_integrity_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, IntegrityError)  # noqa: S101 - registered for this type only
    if not _is_taken(error):
        raise error
    _log.warning("somebody else wrote the same", path=request.url.path, reason=str(error.orig))
    return problem_response(request, HTTPStatus.CONFLICT, _TAKEN)


def _is_taken(error: IntegrityError) -> bool:
    """Whether a row of the same key is there, not any other mistake."""
    match error.orig:
        case psycopg.errors.UniqueViolation():
            return True
        case sqlite3.IntegrityError() as refused:
            codes = {sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY}
            return refused.sqlite_errorcode in codes
        case _:
            return False


async def _on_overloaded(request: Request, error: Exception) -> JSONResponse:
    _log.warning("too much is under way", path=request.url.path, reason=str(error))
    return _try_again(request, f"{error} Nothing was changed; try again.")


async def _on_stopping(request: Request, error: Exception) -> JSONResponse:
    return _try_again(request, f"{error} Nothing was changed; try again.")


def _try_again(request: Request, detail: str) -> JSONResponse:
    response = problem_response(request, HTTPStatus.SERVICE_UNAVAILABLE, detail)
    response.headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
    return response

"""Tells a store that cannot be used now from a mistake of the program.

Whatever reads or writes does so inside `telling_unavailable`: a database that is away, locked or
full is one exception then, which the edge answers with 503.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import psycopg
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

# https://www.postgresql.org/docs/current/errcodes-appendix.html, by class: the connection, the
# state of a transaction (read-only after a failover, idle for too long), authorization, a database
# that is not there, a rollback, resources, a lock or statement timeout, an operator, the system.
_POSTGRESQL: Final = frozenset({"08", "25", "28", "3D", "40", "53", "55", "57", "58"})

# https://www.sqlite.org/rescode.html
_SQLITE: Final = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_READONLY,
    }
)


class StoreUnavailable(Exception):
    """The store cannot be used now; whether a change was made is unknown if `may_be_done`."""

    def __init__(self, reason: str, *, may_be_done: bool = False) -> None:
        super().__init__(reason)
        self.may_be_done = may_be_done


@contextmanager
def telling_unavailable(*, may_be_done: bool = False) -> Iterator[None]:
    """Raise `StoreUnavailable` for what fails inside because the store cannot be used.

    Args:
        may_be_done: inside, a change is committed: if the connection breaks, nobody knows whether
            it was made.
    """
    try:
        yield
    except SQLAlchemyError as error:
        if not _is_unavailable(error):
            raise
        is_lost = may_be_done and isinstance(error, DBAPIError) and error.connection_invalidated
        raise StoreUnavailable(_reason(error), may_be_done=is_lost) from error


def _is_unavailable(error: SQLAlchemyError) -> bool:
    if isinstance(error, PoolTimeout):
        return True
    if not isinstance(error, DBAPIError):
        return False
    match error.orig:
        case psycopg.Error() as refused if refused.sqlstate:
            return refused.sqlstate[:2] in _POSTGRESQL
        case psycopg.OperationalError() | psycopg.InterfaceError():
            return True  # no connection, or a broken one: PostgreSQL itself said nothing
        case sqlite3.Error() as refused:
            return getattr(refused, "sqlite_errorcode", 0) & 0xFF in _SQLITE
        case _:
            return error.connection_invalidated


def _reason(error: SQLAlchemyError) -> str:
    # Not str(error): it holds the statement with its parameters.
    told = error.orig if isinstance(error, DBAPIError) else error
    return str(told).partition("\n")[0]

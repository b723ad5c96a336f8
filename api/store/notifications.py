"""Notifies waiting readers of a new epoch of a stream, in this process and in all others.

    writer ─ commit ─► EpochBell.ring ─► waiting long-polls of this process
                └ NOTIFY (PostgreSQL) or a changed file (SQLite) ─► listener ─► ring, elsewhere

A ring says only "look again": whoever wakes reads the store, so that a lost or a doubled ring can
never show a wrong epoch. A listener that fails begins again, for as long as the service runs.
"""

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Final

import psycopg
import structlog
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from api.store.database import Database, sqlite_address, store_timeouts

CHANNEL: Final = "percept_epochs"

_SQLITE_LOOK_SECONDS: Final = 0.025
_FIRST_PAUSE_SECONDS: Final = 1.0
_LONGEST_PAUSE_SECONDS: Final = 30.0

_log = structlog.get_logger("percept.notifications")


class EpochBell:
    """Wakes the readers that wait for a stream; used by one event loop."""

    def __init__(self) -> None:
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self.is_closed = True

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Let readers wait, in this loop."""
        self._loop = loop
        self.is_closed = False

    @property
    def waiting_readers(self) -> int:
        """How many readers wait now."""
        return sum(len(events) for events in self._waiting.values())

    @contextlib.contextmanager
    def listening(self, stream: str) -> Iterator[asyncio.Event]:
        """Yield an event that is set at every ring for a stream; clear it before each read."""
        event = asyncio.Event()
        if self.is_closed:
            event.set()
        self._waiting.setdefault(stream, set()).add(event)
        try:
            yield event
        finally:
            self._waiting[stream].discard(event)
            if not self._waiting[stream]:
                del self._waiting[stream]

    def ring(self, stream: str | None = None) -> None:
        """Wake the readers of a stream, or all of them; callable from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake, stream)

    def close(self) -> None:
        """Wake every reader, now and from now on, because the service stops."""
        self.is_closed = True
        self.ring()

    def _wake(self, stream: str | None) -> None:
        streams = list(self._waiting) if stream is None else [stream]
        for name in streams:
            for event in self._waiting.get(name, ()):
                event.set()


def notify_others(session: Session, stream: str) -> None:
    """Notify other processes of a change of a stream, once this transaction is committed."""
    if session.get_bind().dialect.name == "postgresql":
        session.execute(select(func.pg_notify(CHANNEL, stream)))


@contextlib.asynccontextmanager
async def hearing_others(database: Database, bell: EpochBell) -> AsyncIterator[None]:
    """Ring the bell for what other processes write, while the context is open."""
    task = asyncio.create_task(_Hearing(database, bell).go_on())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


class _Hearing:
    """Listens to the store; the first failure of a row is logged, and that it is over."""

    def __init__(self, database: Database, bell: EpochBell) -> None:
        self._database = database
        self._bell = bell
        self._listen = _listen_postgresql if database.is_postgresql else _watch_sqlite
        self._pause_seconds = _FIRST_PAUSE_SECONDS
        self._fails = False

    async def go_on(self) -> None:
        """Listen, again and again, until this is cancelled."""
        while True:
            try:
                await self._listen(self._database, self._bell, self._on_begin)
            except Exception as error:  # noqa: BLE001 - whatever it is, listening goes on
                self._on_failure(error)
            await asyncio.sleep(self._pause_seconds)
            self._pause_seconds = min(2 * self._pause_seconds, _LONGEST_PAUSE_SECONDS)

    def _on_begin(self) -> None:
        if self._fails:
            _log.info("changes by other processes are heard again")
        self._fails = False
        self._pause_seconds = _FIRST_PAUSE_SECONDS
        self._bell.ring()  # for what was written while nobody listened

    def _on_failure(self, error: Exception) -> None:
        if not self._fails:
            _log.warning("changes by other processes are not heard", error=str(error))
        self._fails = True


async def _listen_postgresql(
    database: Database, bell: EpochBell, on_begin: Callable[[], None]
) -> None:
    url = database.engine.url.set(drivername="postgresql")
    async with await psycopg.AsyncConnection.connect(
        url.render_as_string(hide_password=False), autocommit=True, **store_timeouts(url)
    ) as connection:
        await connection.execute(f"LISTEN {CHANNEL}")
        on_begin()
        async for notification in connection.notifies():
            bell.ring(notification.payload)


async def _watch_sqlite(database: Database, bell: EpochBell, on_begin: Callable[[], None]) -> None:
    # A connection of its own that waits for no lock: this runs on the event loop.
    address = sqlite_address(database.engine.url)
    with contextlib.closing(sqlite3.connect(address, uri=True, timeout=0)) as connection:
        seen = _data_version(connection)
        on_begin()
        while True:
            await asyncio.sleep(_SQLITE_LOOK_SECONDS)
            version = _data_version(connection)
            if version != seen:
                seen = version
                bell.ring()


def _data_version(connection: sqlite3.Connection) -> int:
    # It changes whenever another connection has committed to the file.
    (version,) = connection.execute("PRAGMA data_version").fetchone()
    return int(version)

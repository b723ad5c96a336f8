"""Notifies waiting readers of a new epoch of a stream, in this process and in all others.

    writer ─ commit ─► EpochBell.ring ─► waiting long-polls of this process
                └ NOTIFY (PostgreSQL) or a changed file (SQLite) ─► listener ─► ring, elsewhere

A ring carries no data: the reader then reads the store, so that a lost or duplicate ring can never
show a wrong epoch.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator

import psycopg
import structlog
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from api.store.database import Database

CHANNEL = "percept_epochs"

_SQLITE_LOOK_SECONDS = 0.025
_RECONNECT_SECONDS = 1.0

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
    """Ring the bell for changes by other processes, while the context is open."""
    listen = _listen_postgresql if database.is_postgresql else _watch_sqlite
    task = asyncio.create_task(listen(database, bell))
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def _listen_postgresql(database: Database, bell: EpochBell) -> None:
    url = database.engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
    while True:
        try:
            async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
                await connection.execute(f"LISTEN {CHANNEL}")
                bell.ring()  # what was published while nobody listened
                async for notification in connection.notifies():
                    bell.ring(notification.payload)
        except psycopg.Error as error:
            _log.warning("lost the notifications of PostgreSQL, reconnecting", error=str(error))
        await asyncio.sleep(_RECONNECT_SECONDS)


async def _watch_sqlite(database: Database, bell: EpochBell) -> None:
    # data_version changes whenever another connection has committed to the file.
    with database.engine.connect() as connection:
        driver_connection = connection.connection
        seen: object = None
        while True:
            cursor = driver_connection.cursor()
            cursor.execute("PRAGMA data_version")
            version = cursor.fetchone()
            cursor.close()
            if version != seen:
                seen = version
                bell.ring()
            await asyncio.sleep(_SQLITE_LOOK_SECONDS)

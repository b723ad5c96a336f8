"""HTTP on one connection, uvicorn's, with a deadline for whatever the client has to do.

    head (or idle) ─► body ─► answer ─► head …     each but the answer has its time, in all

uvicorn itself waits for ever: for a head that comes byte by byte, a body, an answer being read. The
time of a phase counts from its beginning; more bytes do not prolong it.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from api.server.connections import Connections

_CLOSING_SECONDS: Final = 5.0
# Of an answer that is longer than fits on its way, so much is read in so many seconds.
_READ_SECONDS: Final = 30.0
_READ_BYTES: Final = 16_384

_TOO_SLOW: Final = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
_NO_ROOM: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 2\r\nConnection: close\r\n"
    b"Content-Length: 0\r\n\r\n"
)


class _Phase(Enum):
    HEAD = auto()  # also before its first byte
    BODY = auto()
    ANSWER = auto()
    CLOSING = auto()  # answered, or closed: what still comes is thrown away


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a client may take for the head of a request, its wait included, and for its body."""

    head_seconds: float
    body_seconds: float


class _FramedConnection(h11.Connection):
    """Refuses a request whose body may end elsewhere for a proxy (RFC 9112, section 6.1).

    h11 takes Transfer-Encoding, passes Content-Length over, and keeps the connection.
    """

    def next_event(self) -> Any:
        event = super().next_event()
        if isinstance(event, h11.Request):
            names = {name for name, _ in event.headers}
            is_old = event.http_version < b"1.1"
            if b"transfer-encoding" in names and (is_old or b"content-length" in names):
                raise h11.RemoteProtocolError(
                    "Transfer-Encoding with another length, or before 1.1"
                )
        return event


class BoundedProtocol(H11Protocol):
    """One connection among `connections`, cut off where the client takes too long."""

    def __init__(
        self, connections: Connections, patience: Patience, *arguments: Any, **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self.conn = _FramedConnection(h11.SERVER)
        self._open = connections
        self._seconds = {
            _Phase.HEAD: patience.head_seconds,
            # The endpoint refuses a slow body itself and says why; this is for what it cannot see.
            _Phase.BODY: patience.body_seconds + _CLOSING_SECONDS,
            _Phase.CLOSING: _CLOSING_SECONDS,
        }
        self._phase: _Phase | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._reading: asyncio.TimerHandle | None = None
        self._has_begun = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, or turn it away."""
        super().connection_made(transport)
        if self._open.admit(transport):
            self._follow_phase()
        else:
            transport.write(_NO_ROOM)
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection."""
        _cancel(self._deadline)
        _cancel(self._reading)
        self._open.forget(self.transport)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what the client sends."""
        self._has_begun = True
        super().data_received(data)
        self._follow_phase()

    def on_response_complete(self) -> None:
        """Go on to the next request, if one may follow."""
        self._has_begun = False
        super().on_response_complete()
        self._follow_phase()

    def pause_writing(self) -> None:
        """Wait for the client to read its answer, but not for ever."""
        super().pause_writing()
        self._await_reading()
        self._follow_phase()

    def resume_writing(self) -> None:
        """Go on: the client has read."""
        _cancel(self._reading)
        super().resume_writing()
        self._follow_phase()

    def _await_reading(self) -> None:
        unread_bytes = self.transport.get_write_buffer_size()

        def look_again() -> None:
            if self.transport.get_write_buffer_size() > unread_bytes - _READ_BYTES:
                self.transport.abort()
            else:
                self._await_reading()

        _cancel(self._reading)
        self._reading = self.loop.call_later(_READ_SECONDS, look_again)

    def _follow_phase(self) -> None:
        phase = self._current_phase()
        if phase is self._phase:
            return
        self._phase = phase
        _cancel(self._deadline)
        if phase in {_Phase.HEAD, _Phase.CLOSING}:
            self._open.begin_waiting(self.transport)
        else:
            self._open.begin_request(self.transport)
        if phase is not _Phase.ANSWER:
            self._deadline = self.loop.call_later(self._seconds[phase], self._on_deadline)

    def _current_phase(self) -> _Phase:
        if self.flow.write_paused:
            return _Phase.ANSWER
        if self.transport.is_closing():
            return _Phase.CLOSING
        if self.conn.their_state is h11.IDLE:
            return _Phase.HEAD
        if self.conn.their_state is h11.SEND_BODY:
            return _Phase.CLOSING if self.cycle.response_complete else _Phase.BODY
        return _Phase.ANSWER

    def _on_deadline(self) -> None:
        if self._phase is not _Phase.HEAD or self.transport.is_closing():
            self.transport.abort()
            return
        if self._has_begun:
            self.transport.write(_TOO_SLOW)
        self.transport.close()
        self._follow_phase()


def protocol_factory(
    connections: Connections, patience: Patience
) -> Callable[..., BoundedProtocol]:
    """Return what makes the protocol of each connection, as uvicorn asks for it."""

    def made(**options: Any) -> BoundedProtocol:
        return BoundedProtocol(connections, patience, **options)

    return made


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()

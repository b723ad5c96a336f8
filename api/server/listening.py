"""The server of `percept serve`: uvicorn, with bounded connections and descriptors to spare.

Descriptors are what a flood of connections uses up first: then no connection is accepted, not even
one that asks for health, and the store cannot be opened.
"""

import asyncio
import contextlib
import math
import socket
import sys
from collections.abc import Callable
from typing import Any, Final

import uvicorn
from anyio.to_thread import current_default_thread_limiter
from fastapi import FastAPI

from api.server.connections import Connections
from api.server.protocol import Patience, protocol_factory
from api.server.seldom import Seldom
from api.settings import Settings

# For the store (three for each connection to SQLite), logs, and connections that are being closed.
_RESERVED_DESCRIPTORS: Final = 256
_FEWEST_CONNECTIONS: Final = 16
_WANTED_DESCRIPTORS: Final = 65_536
# asyncio accepts so many in one go, before the first of them can be turned away.
_ACCEPTED_AT_ONCE: Final = 32
_QUEUED_BY_KERNEL: Final = 1_024
_LOGGED_EVERY_SECONDS: Final = 10.0
# Threads compute in turns. Each time the event loop has sent or received something it waits for its
# turn behind all that compute: so they are few, and a turn is short.
READING_THREADS: Final = 12
_TURN_SECONDS: Final = 0.001


class Server(uvicorn.Server):
    """Serves an app within the limits of its settings.

    Args:
        app: what to serve.
        settings: where to listen, and the limits.
        before_stop: lets requests go that wait, before a stop waits for them.
        lifespan: uvicorn's setting: whether the app receives start and stop events.
    """

    def __init__(
        self,
        app: FastAPI,
        settings: Settings,
        before_stop: Callable[[], None],
        *,
        lifespan: Any = "on",
    ) -> None:
        self.open = Connections(min(settings.connections, _affordable_connections()))
        self._before_stop = before_stop
        patience = Patience(settings.head_seconds, settings.body_seconds)
        super().__init__(
            uvicorn.Config(
                app,
                host=settings.host,
                port=settings.port,
                http=protocol_factory(self.open, patience),  # type: ignore[arg-type]
                ws="none",
                lifespan=lifespan,
                backlog=_ACCEPTED_AT_ONCE,
                timeout_keep_alive=math.ceil(2 * settings.head_seconds),  # the protocol is sooner
                timeout_graceful_shutdown=settings.stop_seconds,
                access_log=False,
                forwarded_allow_ips=settings.trusted_proxies,  # empty: nobody
                log_config=None,
                server_header=False,
                # The reader of a connection runs on in the context of the request that it resumed:
                # without this the next request on the connection begins in it, too.
                reset_contextvars=True,
            )
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        current_default_thread_limiter().total_tokens = READING_THREADS
        asyncio.get_running_loop().set_exception_handler(_ExceptionLog().handle)
        listening = sockets or [self._listening_socket()]
        await super().startup(listening)
        for each in listening:
            each.listen(_QUEUED_BY_KERNEL)

    def _listening_socket(self) -> socket.socket:
        address = (self.config.host, self.config.port)
        family = socket.AF_INET6 if ":" in self.config.host else socket.AF_INET
        try:
            listening = socket.create_server(address, family=family)
        except OSError as error:
            sys.exit(f"Cannot listen on {address[0]}:{address[1]}: {error.strerror}")
        # asyncio does this only for sockets that it has made. Each connection inherits it. Without,
        # the kernel holds a body back until the client has acknowledged the head: 40 ms.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listening

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer every waiting reader, then stop as uvicorn does."""
        self._before_stop()
        await asyncio.sleep(0)
        await super().shutdown(sockets)


def let_threads_take_short_turns() -> None:
    """Let the event loop have the interpreter sooner when it is busy; Python's turn is 5 ms."""
    sys.setswitchinterval(_TURN_SECONDS)


def use_all_descriptors() -> None:
    """Let this process open more files and connections than the few it is given at first."""
    if sys.platform != "win32":
        import resource  # noqa: PLC0415 - there is none on Windows

        given, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = _WANTED_DESCRIPTORS if most == resource.RLIM_INFINITY else most
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(given, wanted), most))


def _affordable_connections() -> int:
    if sys.platform == "win32":
        return sys.maxsize
    import resource  # noqa: PLC0415 - there is none on Windows

    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most == resource.RLIM_INFINITY:
        return sys.maxsize
    return max(most - _RESERVED_DESCRIPTORS, _FEWEST_CONNECTIONS)


class _ExceptionLog:
    """Logs what goes wrong on the loop; that nothing can be accepted, once in a while only."""

    def __init__(self) -> None:
        self._not_accepted = Seldom("connections cannot be accepted", _LOGGED_EVERY_SECONDS)

    def handle(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        # asyncio logs each of thousands of attempts a second, with a traceback.
        if "socket" in context and isinstance(context.get("exception"), OSError):
            self._not_accepted.warn(error=str(context["exception"]))
        else:
            loop.default_exception_handler(context)

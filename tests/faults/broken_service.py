"""A rule service that is broken in a way of the test's choice, over a real socket.

BrokenService.behave(how) ──► every request from now on is answered so, or not at all
"""

import asyncio
import json
import threading
import zlib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

Writer = asyncio.StreamWriter
Behaviour = Callable[[Writer], Awaitable[None]]

STREAM: Final[dict[str, Any]] = {
    "name": "logins",
    "version": 1,
    "schema": "user STRING, action STRING, ts BIGINT",
    "event_time_column": "ts",
    "allowed_delay_ms": 0,
    "order_by": [],
}
_PART: Final = b" " * 65_536


def rule(rule_id: Any, action: str, version: Any = 1, **more: Any) -> dict[str, Any]:
    """Return a processor of a snapshot that finds one action of each user; its version has more."""
    definition = {
        "pattern": {"steps": [{"name": "step", "where": f"action = '{action}'"}]},
        "key_by": ["user"],
    }
    published = {
        "version": version,
        "effective_from_ms": None,
        "effective_until_ms": None,
        "definition": definition,
    }
    return {"id": rule_id, "paused": False, "versions": [published | more]}


def snapshot(*processors: Any, epoch: Any = 1, **stream: Any) -> dict[str, Any]:
    return {"format": 1, "epoch": epoch, "stream": STREAM | stream, "processors": list(processors)}


def answers(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Behaviour:
    """Return the behaviour of a service that answers so: JSON, or bytes as they are."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    told = {"Content-Length": str(len(body)), "Connection": "close"} | dict(headers or {})
    lines = "".join(f"{name}: {value}\r\n" for name, value in told.items())

    async def behave(writer: Writer) -> None:
        writer.write(f"HTTP/1.1 {status} Said\r\n{lines}\r\n".encode("latin-1") + body)
        await writer.drain()

    return behave


def sends(content: bytes) -> Behaviour:
    """Return the behaviour of a server that sends these bytes, HTTP or not, and hangs up."""

    async def behave(writer: Writer) -> None:
        writer.write(content)
        await writer.drain()

    return behave


async def hangs(writer: Writer) -> None:
    """Take the request and say nothing."""
    await writer.wait_closed()


async def drips(writer: Writer) -> None:
    """Send an answer so slowly that it never ends."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n")
    while not writer.is_closing():
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.05)


async def never_ends(writer: Writer) -> None:
    """Send a body as fast as it is taken, without an end."""
    writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
    while not writer.is_closing():
        writer.write(_PART)
        await writer.drain()


async def explodes(writer: Writer) -> None:
    """Send a few megabytes that are gigabytes when they are unpacked."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    zeros = bytes(1 << 20)
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n")
    for _ in range(2_048):
        if writer.is_closing():
            return
        writer.write(packer.compress(zeros))
        await writer.drain()
    writer.write(packer.flush())


@dataclass
class BrokenService:
    """A server on a port of its own; `behave` may be called from any thread."""

    port: int = 0
    asked: int = 0
    _behaviour: Behaviour = hangs
    _open: set[Writer] = field(default_factory=set)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def behave(self, behaviour: Behaviour) -> None:
        """Answer every request from now on like this."""
        self.asked = 0
        self._behaviour = behaviour

    async def serve(self, reader: asyncio.StreamReader, writer: Writer) -> None:
        """Read the head of a request, and behave."""
        self._open.add(writer)
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await reader.readuntil(b"\r\n\r\n")
            self.asked += 1
            await self._behaviour(writer)
        writer.close()
        # What its client has not read yet keeps it open: it must stay among those to break.
        with suppress(OSError, asyncio.CancelledError):
            await writer.wait_closed()
        self._open.discard(writer)

    def hang_up(self) -> None:
        """Break what is open; in the thread of the server."""
        for writer in list(self._open):
            writer.transport.abort()


@contextmanager
def broken_service() -> Iterator[BrokenService]:
    """Yield a service that says nothing yet."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    service = BrokenService()

    async def start() -> asyncio.Server:
        server = await asyncio.start_server(service.serve, "127.0.0.1", 0, limit=1 << 20)
        service.port = server.sockets[0].getsockname()[1]
        return server

    async def stop(server: asyncio.Server) -> None:
        server.close()
        service.hang_up()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    server = asyncio.run_coroutine_threadsafe(start(), loop).result()
    try:
        yield service
    finally:
        asyncio.run_coroutine_threadsafe(stop(server), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

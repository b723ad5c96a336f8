"""A way to a server over TCP that can be cut and mended, as cables and networks are."""

import asyncio
import contextlib
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any


class Forwarder:
    """Passes connections on to a server; belongs to an event loop in a thread of its own."""

    def __init__(self, host: str, port: int, loop: asyncio.AbstractEventLoop) -> None:
        self._target = (host, port)
        self._loop = loop
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self.port = 0

    def mend(self) -> None:
        """Take connections, from now on or again."""
        self._do(self._listen())

    def cut(self) -> None:
        """Break all connections and take no new ones."""
        self._do(self._stop())

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._forward, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _stop(self) -> None:
        if self._server is not None:
            self._server.close()
        for writer in list(self._open):
            writer.transport.abort()

    async def _forward(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        self._open.add(back)
        # A task that ends cancelled makes asyncio log an error of its own.
        with contextlib.suppress(OSError, asyncio.CancelledError):
            far, out = await asyncio.open_connection(*self._target)
            self._open.add(out)
            try:
                await asyncio.gather(_pump(near, out), _pump(far, back))
            finally:
                self._open.discard(out)
                out.close()
        self._open.discard(back)
        back.close()


async def _pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(65_536):
        target.write(data)
        await target.drain()
    target.close()


@contextmanager
def forwarder_to(host: str, port: int) -> Iterator[Forwarder]:
    """Yield a way to a server, whole at first."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    forwarder = Forwarder(host, port, loop)
    try:
        forwarder.mend()
        yield forwarder
        forwarder.cut()
    finally:
        asyncio.run_coroutine_threadsafe(_drained(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _drained() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)

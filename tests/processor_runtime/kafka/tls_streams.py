"""TLS on the streams of asyncio, of a server that tells a client why it is refused, as brokers do.

    bytes of the network ──TlsStream──► handshake, or an alert ──► what the client says

asyncio's own TLS closes the connection when a handshake fails before it has sent the alert.
"""

import asyncio
import ssl
from dataclasses import dataclass, field
from typing import Final

_BYTES_AT_ONCE: Final = 65_536


@dataclass
class TlsStream:
    """Reads and writes as `StreamReader` and `StreamWriter` do, as far as it is needed here."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    context: ssl.SSLContext
    _incoming: ssl.MemoryBIO = field(default_factory=ssl.MemoryBIO)
    _outgoing: ssl.MemoryBIO = field(default_factory=ssl.MemoryBIO)
    _tls: ssl.SSLObject = field(init=False)
    _said: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        self._tls = self.context.wrap_bio(self._incoming, self._outgoing, server_side=True)

    async def accept(self) -> None:
        """Shake hands.

        Raises:
            ssl.SSLError: the client is refused, and has been told.
            EOFError: the client is gone.
        """
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                pass
            else:
                return
            finally:
                self._send()
            await self._take()

    async def readexactly(self, count: int) -> bytes:
        """Return so many bytes of what the client says.

        Raises:
            EOFError: it says no more.
        """
        while len(self._said) < count:
            try:
                said = self._tls.read(_BYTES_AT_ONCE)
            except ssl.SSLWantReadError:
                self._send()
                await self._take()
                continue
            if not said:  # the client has taken its leave
                raise EOFError
            self._said += said
        taken = bytes(self._said[:count])
        del self._said[:count]
        return taken

    def write(self, answer: bytes) -> None:
        self._tls.write(answer)
        self._send()

    async def drain(self) -> None:
        await self.writer.drain()

    def close(self) -> None:
        """Close the connection when all is written."""
        self.writer.close()

    def _send(self) -> None:
        self.writer.write(self._outgoing.read())

    async def _take(self) -> None:
        taken = await self.reader.read(_BYTES_AT_ONCE)
        if not taken:
            raise EOFError
        self._incoming.write(taken)

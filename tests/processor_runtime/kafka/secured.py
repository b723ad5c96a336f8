"""TLS and SASL in front of brokers that have neither, as Kafka's protocol has them.

    client ──TLS──► Guard: who is it? ──plain──► broker of the mock cluster
           ◄── answers that name brokers name their guards

Requests and answers are frames with a length. Of each request its kind is remembered by its number,
so that only answers that name brokers are changed; records pass through untouched. Nothing passes
until the client has said who it is.
"""

import asyncio
import hmac
import ssl
import threading
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import new, pbkdf2_hmac
from pathlib import Path
from secrets import token_hex
from struct import pack, unpack_from
from typing import Any, Final

from tests.processor_runtime.kafka.certificates import Certified
from tests.processor_runtime.kafka.tls_streams import TlsStream

API_VERSIONS, HANDSHAKE, AUTHENTICATE = 18, 17, 36
_NAME_BROKERS: Final = (3, 10, 60)  # Metadata, FindCoordinator, DescribeCluster
_FLEXIBLE_SINCE: Final = 3  # of ApiVersions
_HOST: Final = "127.0.0.1"
_WRONG_MECHANISM, _FAILED = 33, 58
_ROUNDS: Final = 4096
_QUIET_ROUNDS: Final = 10


class Refused(Exception):
    """The client is not who it says."""


@dataclass(frozen=True)
class Protection:
    """What brokers ask of clients.

    Args:
        server: certificate of the brokers; `None` = no TLS.
        clients: the authority that must have signed a client's certificate, if it must have one.
        mechanism: of SASL, such as SCRAM-SHA-512; empty = none.
        users: and their passwords.
    """

    server: Certified | None = None
    clients: Path | None = None
    mechanism: str = ""
    users: Mapping[str, str] = field(default_factory=dict)

    def context(self) -> ssl.SSLContext | None:
        """Return how TLS is spoken."""
        if self.server is None:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.server.certificate, self.server.key)
        if self.clients is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self.clients)
        return context


@contextmanager
def guarded(servers: str, protection: Protection) -> Iterator[str]:
    """Run a guard for each of the brokers; give the addresses of the guards."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    ports = [int(each.rpartition(":")[2]) for each in servers.split(",")]
    guards = _Guards(protection)
    try:
        asyncio.run_coroutine_threadsafe(guards.start(ports), loop).result(10)
        yield ",".join(f"{_HOST}:{port}" for port in guards.port_of.values())
    finally:
        asyncio.run_coroutine_threadsafe(guards.stop(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@dataclass
class _Guards:
    protection: Protection
    port_of: dict[int, int] = field(default_factory=dict)
    _servers: list[asyncio.Server] = field(default_factory=list)

    async def start(self, ports: list[int]) -> None:
        context = self.protection.context()
        for port in ports:

            async def serve(
                reader: asyncio.StreamReader, writer: asyncio.StreamWriter, behind: int = port
            ) -> None:
                try:
                    await self._serve(reader, writer, context, behind)
                except (OSError, EOFError, Refused, asyncio.CancelledError):
                    pass
                finally:
                    writer.close()

            server = await asyncio.start_server(serve, _HOST, 0)
            self.port_of[port] = server.sockets[0].getsockname()[1]
            self._servers.append(server)

    async def _serve(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        context: ssl.SSLContext | None,
        behind: int,
    ) -> None:
        if context is None:
            await _Connection(self, reader, writer).serve(behind)
            return
        stream = TlsStream(reader, writer, context)
        await stream.accept()
        await _Connection(self, stream, stream).serve(behind)

    async def stop(self) -> None:
        for server in self._servers:
            server.close()
        loop: Any = asyncio.get_running_loop()
        # What is being accepted has a transport only after a while. No task is cancelled: one that
        # has not begun would leave its socket open; all end with their connections.
        quiet = 0
        while quiet < _QUIET_ROUNDS:
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            open_ones = [each for each in loop._transports.values() if each._sock is not None]
            for transport in open_ones:
                transport.abort()
            quiet = 0 if tasks or open_ones else quiet + 1
            await asyncio.sleep(0.02)

    def with_guards(self, answer: bytes) -> bytes:
        """Return an answer that names the guards of the brokers it names."""
        for port, guard in self.port_of.items():
            host = _HOST.encode()
            answer = answer.replace(host + pack(">i", port), host + pack(">i", guard))
        return answer


@dataclass
class _Connection:
    """One client, and a connection to the broker behind."""

    guards: _Guards
    reader: asyncio.StreamReader | TlsStream
    writer: asyncio.StreamWriter | TlsStream
    _asked: dict[int, tuple[int, int]] = field(default_factory=dict)

    async def serve(self, port: int) -> None:
        protection = self.guards.protection
        login = _login(protection) if protection.mechanism else None
        reader, broker = await asyncio.open_connection(_HOST, port)
        answers = asyncio.create_task(self._answers(reader))
        try:
            while True:
                frame = await _frame(self.reader)
                kind, version, number = unpack_from(">hhi", frame)
                if login is not None and kind in {HANDSHAKE, AUTHENTICATE}:
                    body = frame[10 + max(0, unpack_from(">h", frame, 8)[0]) :]
                    _send(self.writer, pack(">i", number) + login.answer(kind, body))
                    await self.writer.drain()
                    continue
                if login is not None and not login.is_done and kind != API_VERSIONS:
                    raise Refused
                self._asked[number] = kind, version
                _send(broker, frame)
                await broker.drain()
        finally:
            answers.cancel()
            broker.close()

    async def _answers(self, reader: asyncio.StreamReader) -> None:
        with suppress(OSError, EOFError):
            while True:
                answer = await _frame(reader)
                kind, version = self._asked.pop(unpack_from(">i", answer)[0])
                if kind in _NAME_BROKERS:
                    answer = self.guards.with_guards(answer)
                elif kind == API_VERSIONS and self.guards.protection.mechanism:
                    answer = _with_login(answer, version)
                _send(self.writer, answer)
                await self.writer.drain()
        self.writer.close()


async def _frame(reader: asyncio.StreamReader | TlsStream) -> bytes:
    return await reader.readexactly(unpack_from(">i", await reader.readexactly(4))[0])


def _send(writer: asyncio.StreamWriter | TlsStream, frame: bytes) -> None:
    writer.write(pack(">i", len(frame)) + frame)


def _with_login(answer: bytes, version: int) -> bytes:
    """Return what a broker can do, and that it can let clients log in: number, error, the list."""
    added = [(HANDSHAKE, 0, 1), (AUTHENTICATE, 0, 0)]
    if version < _FLEXIBLE_SINCE:
        (count,) = unpack_from(">i", answer, 6)
        entries = b"".join(pack(">hhh", *each) for each in added)
        return answer[:6] + pack(">i", count + len(added)) + entries + answer[10:]
    # One more than the count, in one byte up to 127.
    count = answer[6] + len(added)
    assert count < 128
    entries = b"".join(pack(">hhhB", *each, 0) for each in added)
    return answer[:6] + bytes([count]) + entries + answer[7:]


@dataclass
class _Plain:
    """PLAIN, RFC 4616: name and password in one message."""

    protection: Protection
    is_done: bool = False

    def answer(self, kind: int, body: bytes) -> bytes:
        """Return the answer to a handshake, or to a step of logging in."""
        mechanism = self.protection.mechanism.encode()
        if kind == HANDSHAKE:
            error = 0 if body[2:] == mechanism else _WRONG_MECHANISM
            return pack(">hih", error, 1, len(mechanism)) + mechanism
        try:
            said = self.step(body[4:])
        except (Refused, KeyError, ValueError):
            why = b"Authentication failed: Invalid username or password"
            return pack(">hh", _FAILED, len(why)) + why + pack(">i", 0)
        return pack(">hhi", 0, -1, len(said)) + said

    def step(self, said: bytes) -> bytes:
        _, user, password = said.decode().split("\0")
        if not hmac.compare_digest(self.protection.users[user].encode(), password.encode()):
            raise Refused
        self.is_done = True
        return b""


@dataclass
class _Scram(_Plain):
    """SCRAM, RFC 5802: both sides prove that they know the password, which is never sent."""

    _said: str = ""
    _salted: bytes = b""

    def step(self, said: bytes) -> bytes:
        text = said.decode()
        return self._begin(text) if not self._said else self._end(text)

    def _begin(self, text: str) -> bytes:
        first = text.split(",", 2)[2]
        fields = _fields(first)
        salt, nonce = token_hex(8).encode(), fields["r"] + token_hex(8)
        password = self.protection.users[fields["n"]].encode()
        self._salted = pbkdf2_hmac(self._hash, password, salt, _ROUNDS)
        answer = f"r={nonce},s={b64encode(salt).decode()},i={_ROUNDS}"
        self._said = f"{first},{answer}"
        return answer.encode()

    def _end(self, text: str) -> bytes:
        bare, _, proof = text.rpartition(",p=")
        if _fields(bare)["r"] != _fields(self._said.partition(",r=")[2])["r"]:
            raise Refused
        said = f"{self._said},{bare}".encode()
        key = self._mac(self._salted, b"Client Key")
        signature = self._mac(self._digest(key), said)
        expected = bytes(a ^ b for a, b in zip(key, signature, strict=True))
        if not hmac.compare_digest(expected, b64decode(proof)):
            raise Refused
        self.is_done = True
        return b"v=" + b64encode(self._mac(self._mac(self._salted, b"Server Key"), said))

    @property
    def _hash(self) -> str:
        return self.protection.mechanism.removeprefix("SCRAM-").replace("-", "").lower()

    def _digest(self, data: bytes) -> bytes:
        return new(self._hash, data).digest()

    def _mac(self, key: bytes, said: bytes) -> bytes:
        return hmac.digest(key, said, self._hash)


def _fields(text: str) -> dict[str, str]:
    return dict(each.split("=", 1) for each in text.split(",") if "=" in each)


def _login(protection: Protection) -> _Plain:
    return _Plain(protection) if protection.mechanism == "PLAIN" else _Scram(protection)

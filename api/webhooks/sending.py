"""One attempt to deliver a message: a POST to a checked address, in time, without redirects.

    Message ──send──► Answer: status · why it did not arrive

Of the answer only the status is used. Its text is not kept, so that a receiver cannot be made to
tell what is behind it.
"""

import contextlib
import http.client
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final
from urllib.parse import SplitResult

from api.webhooks.addresses import AddressRefused, checked_addresses, checked_url, port_of

SEND_SECONDS: Final = 15.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What a receiver answered; `status` is `None` if it did not, and `error` says why."""

    status: int | None
    error: str = ""

    @property
    def is_success(self) -> bool:
        """Whether the message has arrived."""
        return self.status is not None and HTTPStatus(200) <= self.status < HTTPStatus(300)

    @property
    def is_gone(self) -> bool:
        """Whether the receiver wants no further message."""
        return self.status == HTTPStatus.GONE


def send(
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    *,
    allows_private: bool,
    seconds: float = SEND_SECONDS,
) -> Answer:
    """Post a body to a URL and return the answer; nothing is raised.

    Args:
        url: where to.
        headers: beside `Content-Type` and `Host`.
        body: JSON.
        allows_private: whether addresses may be others than public ones.
        seconds: how long it may take once the name is resolved.
    """
    try:
        parts = checked_url(url, allows_private=allows_private)
        addresses = checked_addresses(
            parts.hostname or "", port_of(parts), allows_private=allows_private
        )
    except AddressRefused as refused:
        return Answer(None, str(refused))
    ends_at = time.monotonic() + seconds
    try:
        plain = _connected(addresses, port_of(parts), ends_at)
    except OSError as error:
        return Answer(None, f"no connection: {error.strerror or type(error).__name__}")
    return _posted(parts, plain, headers, body, ends_at)


def _connected(addresses: list[str], port: int, ends_at: float) -> socket.socket:
    failure: OSError = TimeoutError()
    for address in addresses:
        remaining = ends_at - time.monotonic()
        if remaining <= 0:
            break
        try:
            return socket.create_connection((address, port), timeout=remaining)
        except OSError as error:
            failure = error
    raise failure


def _posted(
    parts: SplitResult,
    plain: socket.socket,
    headers: Mapping[str, str],
    body: bytes,
    ends_at: float,
) -> Answer:
    # Each part of an answer has a timeout of its own; only this bounds the whole.
    host = parts.hostname or ""
    connection = http.client.HTTPConnection(host, port_of(parts))
    connection.sock = plain
    watch = threading.Timer(max(ends_at - time.monotonic(), 0.0), _shut, (connection,))
    watch.daemon = True
    watch.start()
    try:
        if parts.scheme == "https":
            context = ssl.create_default_context()
            encrypted = context.wrap_socket(
                plain, server_hostname=host, do_handshake_on_connect=False
            )
            connection.sock = encrypted
            encrypted.do_handshake()
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        sent = {"Host": parts.netloc, "Content-Type": "application/json", **headers}
        connection.request("POST", target, body, sent)
        status = connection.getresponse().status
    except ssl.SSLCertVerificationError as error:
        return Answer(None, f"its certificate is not accepted: {error.verify_message}")
    except (OSError, http.client.HTTPException, ValueError) as error:
        if time.monotonic() >= ends_at:
            return Answer(None, "it did not answer in time")
        return Answer(None, f"no answer: {type(error).__name__}")
    finally:
        watch.cancel()
        connection.close()
    message = "" if HTTPStatus(200) <= status < HTTPStatus(300) else f"it answered {status}"
    if HTTPStatus(300) <= status < HTTPStatus(400):
        message += "; redirects are not followed"
    return Answer(status, message)


def _shut(connection: http.client.HTTPConnection) -> None:
    with contextlib.suppress(OSError):
        if connection.sock is not None:
            connection.sock.shutdown(socket.SHUT_RDWR)

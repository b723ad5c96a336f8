"""Repeats one POST until it is delivered, finally refused, or the time is up.

    body ──► POST ──► 2xx: delivered
                 ├──► 408, 425, 429, 5xx, no answer: again, after a growing pause or as asked for
                 └──► anything else: refused, no retry

The timeout covers the whole answer, however slowly it arrives.
"""

import asyncio
import hashlib
import hmac
import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Self

import httpx2

from contract.service_access import retry_after_seconds
from discoverers.clock import Backoff
from processor_runtime.job_file.outputs import WebhookOutput

SIGNATURE_HEADER: Final = "X-Percept-Signature"

_WORTH_REPEATING: Final = frozenset(
    {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS}
)


class WebhookRefused(RuntimeError):
    """A request was not delivered; the message has the number of attempts and the last answer."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point in time by which something must have ended."""

    ends_at: float
    now: Callable[[], float] = time.monotonic

    @classmethod
    def after(cls, seconds: float, now: Callable[[], float] = time.monotonic) -> Self:
        """Return the deadline that many seconds from now."""
        return cls(now() + seconds, now)

    @property
    def remaining_seconds(self) -> float:
        """The time left, 0 when it has passed."""
        return max(0.0, self.ends_at - self.now())


class _NotDelivered(Exception):
    """One attempt has failed, but another may not."""

    def __init__(self, message: str, asked_seconds: float = 0.0) -> None:
        super().__init__(message)
        self.asked_seconds = asked_seconds


class WebhookRequests:
    """Delivers bodies to one URL; belongs to one thread.

    `output`: the URL, headers, and how long and how often to try. `token`: sent as a bearer token,
    if there is one. `secret`: signs bodies, if there is one. `transport`: sends a request; HTTP if
    left out.
    """

    def __init__(  # noqa: PLR0913 - what tests put in has a default
        self,
        output: WebhookOutput,
        token: str = "",
        secret: str = "",
        *,
        transport: httpx2.AsyncBaseTransport | None = None,
        backoff: Backoff | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._output = output
        self._headers = output.headers | {"Content-Type": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._secret = secret.encode()
        self._transport = transport
        self._backoff = backoff or Backoff()
        self._sleep = sleep
        # httpx limits the time of each part of an answer; only a task can limit the whole.
        self._runner = asyncio.Runner()
        self._client: httpx2.AsyncClient | None = None

    def deliver(self, body: bytes, key: str, deadline: Deadline) -> None:
        """Post a body until it is accepted.

        Args:
            body: JSON.
            key: the Idempotency-Key, the same for every repetition.
            deadline: until when to try.

        Raises:
            WebhookRefused: it was finally refused, failed too often, or the time is up.
        """
        headers = self._headers | {"Idempotency-Key": key}
        if self._secret:
            headers[SIGNATURE_HEADER] = signature(self._secret, body)
        for attempt in range(1, self._output.retries + 2):
            try:
                self._runner.run(self._post(body, headers, deadline))
            except _NotDelivered as failure:
                pause_seconds = max(self._backoff.seconds(attempt), failure.asked_seconds)
                message = f"tried {attempt} times, the last time {failure}"
                if pause_seconds >= deadline.remaining_seconds:
                    raise WebhookRefused(f"{message}; the time for this batch is up") from None
                if attempt > self._output.retries:
                    raise WebhookRefused(message) from None
                self._sleep(pause_seconds)
            else:
                return

    def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            self._runner.run(self._client.aclose())
        self._runner.close()

    async def _post(self, body: bytes, headers: dict[str, str], deadline: Deadline) -> None:
        timeout_seconds = min(self._output.timeout_seconds, deadline.remaining_seconds)
        try:
            async with asyncio.timeout(timeout_seconds):
                async with self._connected().stream(
                    "POST", str(self._output.url), content=body, headers=headers
                ) as answer:
                    # Only the status of the answer is used: its body is not read.
                    _check(answer)
        except TimeoutError:
            raise _NotDelivered(f"there was no answer within {timeout_seconds:.3g} s") from None
        except httpx2.HTTPError as error:
            said = str(error) or type(error).__name__
            raise _NotDelivered(f"there was no answer: {said}") from None

    def _connected(self) -> httpx2.AsyncClient:
        if self._client is None:
            # Redirects are not followed, so that token and rows are not sent to another host.
            self._client = httpx2.AsyncClient(
                transport=self._transport, follow_redirects=False, timeout=None
            )
        return self._client


def signature(secret: bytes, body: bytes) -> str:
    """Return the HMAC-SHA256 of a body as in the header: `sha256=` and hexadecimal digits."""
    return f"sha256={hmac.new(secret, body, hashlib.sha256).hexdigest()}"


def idempotency_key(prefix: str, batch_id: int, body: bytes) -> str:
    """Return the id of a request, the same whenever the batch is posted again."""
    return hashlib.sha256(f"{prefix}/{batch_id}/".encode() + body).hexdigest()


def _check(answer: httpx2.Response) -> None:
    if answer.is_success:
        return
    status = f"answered {answer.status_code} {answer.reason_phrase}"
    if answer.status_code in _WORTH_REPEATING or answer.is_server_error:
        raise _NotDelivered(f"it {status}", retry_after_seconds(answer))
    if answer.is_redirect:
        status += "; redirects are not followed, so that token and rows go nowhere else"
    raise WebhookRefused(f"the receiver {status}")

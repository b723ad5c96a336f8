"""Sends a request again where that is safe.

That is a read without a good answer, a change with an idempotency key, which the service makes once
however often it comes, and anything put off. Any other change is sent again only if it never
reached the service or the service put it off (429, or 503 with `Retry-After` in a problem
document); else it might be made twice.
"""

import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Final

import httpx2

ATTEMPTS: Final = 4

KEY_HEADER: Final = "Idempotency-Key"

_FIRST_PAUSE_SECONDS: Final = 0.25
_LONGEST_PAUSE_SECONDS: Final = 30.0
READS: Final = frozenset({"GET", "HEAD"})
_PASSING: Final = frozenset(
    {HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT}
)


class RetryingTransport(httpx2.BaseTransport):
    """Tries a request up to four times, pausing 0.25 s, 0.5 s and 1 s or as `Retry-After` says."""

    def __init__(
        self, transport: httpx2.BaseTransport, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._transport = transport
        self._sleep = sleep

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the answer to a request, that of the last attempt if none was good."""
        for attempt in range(1, ATTEMPTS):
            pause_seconds = _FIRST_PAUSE_SECONDS * 2 ** (attempt - 1)
            try:
                response = self._transport.handle_request(request)
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                self._sleep(pause_seconds)
                continue
            except httpx2.TransportError:
                if not _may_come_twice(request):
                    raise
                self._sleep(pause_seconds)
                continue
            if not _is_worth_repeating(request, response):
                return response
            response.close()
            self._sleep(max(pause_seconds, _asked_pause_seconds(response)))
        return self._transport.handle_request(request)

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()


def _is_worth_repeating(request: httpx2.Request, response: httpx2.Response) -> bool:
    if response.status_code == HTTPStatus.TOO_MANY_REQUESTS:
        return True
    if response.status_code not in _PASSING:
        return False
    return _may_come_twice(request) or _says_that_nothing_was_changed(response)


def _may_come_twice(request: httpx2.Request) -> bool:
    return request.method in READS or KEY_HEADER in request.headers


def _says_that_nothing_was_changed(response: httpx2.Response) -> bool:
    # Of a proxy's 503 nobody knows whether the service had begun.
    told_by_service = response.headers.get("Content-Type") == "application/problem+json"
    return told_by_service and "Retry-After" in response.headers


def _asked_pause_seconds(response: httpx2.Response) -> float:
    asked = response.headers.get("Retry-After", "")
    return min(float(asked), _LONGEST_PAUSE_SECONDS) if asked.isdecimal() else 0

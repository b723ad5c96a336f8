"""Gives every request an id, logs it when it is answered, and counts it.

Every answer names the id, and how many more requests the token may make.
"""

import re
import secrets
import time

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.observability.metrics import Metrics

_log = structlog.get_logger("percept.request")
# Of these only there is a series each: a client may invent as many others as it likes.
KNOWN_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_GIVEN_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


class RequestObserver:
    """ASGI middleware around everything else; a sane `X-Request-ID` of the caller is the id."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and say how it went."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get("x-request-id", "")
        request_id = given if _GIVEN_ID.fullmatch(given) else secrets.token_hex(8)
        scope.setdefault("state", {})["request_id"] = request_id
        status = 500

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-ID"] = request_id
                headers.update(scope["state"].get("rate_limit", {}))  # set by api.access
            await send(message)

        began = time.perf_counter()
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            try:
                await self._app(scope, receive, send_with_id)
            finally:
                self._observe(scope, status, time.perf_counter() - began)

    def _observe(self, scope: Scope, status: int, seconds: float) -> None:
        # The template, not the path: one series per route, whatever ids are asked for.
        route = getattr(scope.get("route"), "path", "none")
        waited = "yes" if b"wait=" in scope["query_string"] else "no"
        method = scope["method"] if scope["method"] in KNOWN_METHODS else "other"
        labels = (method if route != "none" else "none", route, str(status), waited)
        metrics: Metrics = scope["app"].state.runtime.metrics
        metrics.requests.labels(*labels).observe(seconds)
        principal = scope["state"].get("principal")  # set by api.access
        _log.info(
            "request",
            method=scope["method"],
            path=scope["path"],
            status=status,
            ms=round(seconds * 1000, 2),
            token=getattr(principal, "name", None),
            token_id=getattr(principal, "token_id", None),
        )

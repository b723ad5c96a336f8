"""Refuses bodies that are too large, also those that do not say beforehand how large they are."""

from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.web.problems import Refusal, problem_response

_TOO_LARGE = HTTPStatus.REQUEST_ENTITY_TOO_LARGE


class BodyLimit:
    """ASGI middleware: a body of more than `max_bytes` is a 413 problem document."""

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self._app = app
        self._max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        announced = Headers(scope=scope).get("content-length", "")
        if announced.isdecimal() and int(announced[:20]) > self._max_bytes:
            detail = self._detail()
            response = problem_response(Request(scope), _TOO_LARGE, detail)
            await response(scope, receive, send)
            return
        received_bytes = 0

        async def counted() -> Message:
            nonlocal received_bytes
            message = await receive()
            received_bytes += len(message.get("body", b""))
            if received_bytes > self._max_bytes:
                raise Refusal(_TOO_LARGE, self._detail())
            return message

        await self._app(scope, counted, send)

    def _detail(self) -> str:
        return f"The body is larger than the limit of {self._max_bytes} bytes."

"""Spans of requests and of their statements to the store, for a collector of OpenTelemetry.

request ──RequestSpans──► span ──► statements in it ──StatementSpans──► spans

Only what is named here is sent: no path, query, header or body, no token, and of a statement its
text with placeholders. FastAPI's and SQLAlchemy's own instruments send more.
"""

from typing import Any, Final

import structlog
from opentelemetry.context import Context
from opentelemetry.trace import (
    Span,
    SpanKind,
    StatusCode,
    Tracer,
    format_trace_id,
    get_current_span,
    use_span,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from sqlalchemy import Engine, event
from sqlalchemy.engine import ExceptionContext
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.observability.requests import KNOWN_METHODS

_OTHER: Final = "_OTHER"  # by the conventions of OpenTelemetry, as is the name of its spans
_TRACE_PARENT: Final = "traceparent"
_FIRST_SERVER_ERROR: Final = 500
_LONGEST_STATEMENT: Final = 2_000
_OPERATIONS: Final = frozenset(
    {"SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "BEGIN", "PRAGMA", "LOCK", "NOTIFY", "SET"}
)
_SPAN: Final = "percept_span"


class RequestSpans:
    """ASGI middleware around everything else: a span for each request.

    It continues the trace that `traceparent` names. Lines of the log get its `trace_id`.
    """

    def __init__(self, app: ASGIApp, tracer: Tracer) -> None:
        self._app = app
        self._tracer = tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, inside its span."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        method = scope["method"] if scope["method"] in KNOWN_METHODS else _OTHER
        span = self._tracer.start_span(
            _name(method),
            _parent(scope),
            SpanKind.SERVER,
            {"http.request.method": method, "url.scheme": scope.get("scheme", "http")},
        )
        status = _FIRST_SERVER_ERROR

        async def send_and_look(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        trace_id = format_trace_id(span.get_span_context().trace_id)
        # Messages of exceptions may hold values: of them only the type is sent.
        with (
            use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False),
            structlog.contextvars.bound_contextvars(trace_id=trace_id),
        ):
            try:
                await self._app(scope, receive, send_and_look)
            except BaseException as error:
                span.set_attribute("error.type", type(error).__name__)
                raise
            finally:
                _finish(span, scope, method, status)


class StatementSpans:
    """A span for each statement of a request; what runs in the background has none.

    Args:
        engine: the store.
        tracer: makes the spans.
    """

    def __init__(self, engine: Engine, tracer: Tracer) -> None:
        self._tracer = tracer
        self._system = engine.dialect.name
        event.listen(engine, "before_cursor_execute", self._begin)
        event.listen(engine, "after_cursor_execute", self._end)
        event.listen(engine, "handle_error", self._fail)

    def _begin(
        self,
        _connection: Any,
        _cursor: Any,
        statement: str,
        _parameters: Any,
        context: Any,
        _is_many: bool,  # noqa: FBT001
    ) -> None:
        if context is None or not get_current_span().is_recording():
            return
        first = statement.split(None, 1)[0].upper() if statement.strip() else ""
        operation = first if first in _OPERATIONS else "statement"
        span = self._tracer.start_span(
            operation,
            kind=SpanKind.CLIENT,
            attributes={
                "db.system.name": self._system,
                "db.query.text": statement[:_LONGEST_STATEMENT],
            },
        )
        setattr(context, _SPAN, span)

    @staticmethod
    def _end(*given: Any) -> None:
        if (span := _taken(given[4])) is not None:
            span.end()

    @staticmethod
    def _fail(failure: ExceptionContext) -> None:
        if (span := _taken(failure.execution_context)) is not None:
            span.set_attribute("error.type", type(failure.original_exception).__name__)
            span.set_status(StatusCode.ERROR)
            span.end()


def _taken(context: Any) -> Span | None:
    """Return the span of a statement under way, and forget it."""
    span: Span | None = getattr(context, _SPAN, None)
    if span is not None:
        setattr(context, _SPAN, None)
    return span


def _parent(scope: Scope) -> Context:
    """Return the trace that the caller has begun; its `tracestate`, long as it may be, is not."""
    given = Headers(scope=scope).get(_TRACE_PARENT)
    carrier = {} if given is None else {_TRACE_PARENT: given}
    return TraceContextTextMapPropagator().extract(carrier, Context())


def _name(method: str) -> str:
    return "HTTP" if method == _OTHER else method


def _finish(span: Span, scope: Scope, method: str, status: int) -> None:
    route = getattr(scope.get("route"), "path", None)
    if route is not None:
        span.update_name(f"{_name(method)} {route}")
        span.set_attribute("http.route", route)
    span.set_attribute("http.response.status_code", status)
    if request_id := scope.get("state", {}).get("request_id"):
        span.set_attribute("percept.request_id", request_id)
    if status >= _FIRST_SERVER_ERROR:
        span.set_status(StatusCode.ERROR)

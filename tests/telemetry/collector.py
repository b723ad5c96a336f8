"""A collector of OpenTelemetry for tests: takes OTLP over HTTP, and may be slow or refuse.

POST /v1/traces, /v1/metrics ──protobuf──► spans, metrics
"""

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.patience import FAR_LONGER_SECONDS


def values(attributes: Any) -> dict[str, Any]:
    return {each.key: _value(each) for each in attributes}


def _value(attribute: KeyValue) -> Any:
    kind = attribute.value.WhichOneof("value")
    return None if kind is None else getattr(attribute.value, kind)


@dataclass
class Collector:
    """What has come, and how it answers.

    `status` is what it answers; while `is_open` is not set, an answer waits for it.
    """

    port: int = 0
    status: int = 200
    is_open: threading.Event = field(default_factory=threading.Event)
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    traces: list[ExportTraceServiceRequest] = field(default_factory=list)
    metric_messages: list[ExportMetricsServiceRequest] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def take(self, path: str, headers: dict[str, str], body: bytes) -> None:
        """Keep what has come."""
        self.requests.append(path)
        self.headers.append(headers)
        plain = gzip.decompress(body) if headers.get("Content-Encoding") == "gzip" else body
        if path == "/v1/traces":
            self.traces.append(ExportTraceServiceRequest.FromString(plain))
        else:
            self.metric_messages.append(ExportMetricsServiceRequest.FromString(plain))
        self.bodies.append(plain)

    @property
    def spans(self) -> list[Span]:
        """All spans, as they came."""
        return [
            span
            for message in list(self.traces)
            for resource in message.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def named(self, name: str) -> list[Span]:
        return [span for span in self.spans if span.name == name]

    @property
    def metrics(self) -> dict[str, Metric]:
        """The newest of each metric, by name."""
        return {
            metric.name: metric
            for message in list(self.metric_messages)
            for resource in message.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }

    @property
    def resources(self) -> list[dict[str, Any]]:
        """Who has sent something."""
        return [
            values(resource.resource.attributes)
            for message in [*self.traces]
            for resource in message.resource_spans
        ] + [
            values(resource.resource.attributes)
            for message in [*self.metric_messages]
            for resource in message.resource_metrics
        ]


class _Handler(BaseHTTPRequestHandler):
    collector: ClassVar[Collector]
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.collector.take(self.path, dict(self.headers.items()), body)
        self.collector.is_open.wait(FAR_LONGER_SECONDS)
        self.send_response(self.collector.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # one that waits is not waited for

    def handle_error(self, *_: Any) -> None:
        """Let clients go that have given up."""


@contextmanager
def collecting(*, status: int = 200, is_slow: bool = False) -> Iterator[Collector]:
    """Yield a collector that listens; a slow one does not answer before `is_open` is set."""
    collector = Collector(status=status)
    if not is_slow:
        collector.is_open.set()
    handler = type("Handler", (_Handler,), {"collector": collector})
    server = _Server(("127.0.0.1", 0), handler)
    collector.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield collector
    finally:
        collector.is_open.set()
        server.shutdown()
        thread.join()
        server.server_close()


def quick(url: str) -> dict[str, str]:
    """Return the variables that let a process send soon, and give up soon."""
    return {
        "OTEL_EXPORTER_OTLP_ENDPOINT": url,
        "OTEL_BSP_SCHEDULE_DELAY": "50",
        "OTEL_METRIC_EXPORT_INTERVAL": "100",
        "OTEL_EXPORTER_OTLP_TIMEOUT": "1",
    }

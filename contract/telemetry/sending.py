"""Spans and figures on their way to the collector, in threads of their own.

    span ended ──► queue of 2,048 ──► BatchSpanProcessor ──► collector
    figures ──read each minute──► MetricsData ──► FiguresThread ──► collector

Whoever makes spans waits for nothing: a queue that is full drops. A stop waits for a moment only.
"""

import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version
from typing import Final

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics.export import MetricExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import NoOpTracer, Tracer

from contract.telemetry.asked import AskedTelemetry
from contract.telemetry.collector import Connection, Told
from contract.telemetry.figures import Figure
from contract.telemetry.metrics_data import metrics_data

_log = logging.getLogger("percept.telemetry")
_STOP_SECONDS: Final = 2.0
_USUAL_INTERVAL_MS: Final = 60_000
_SHORTEST_INTERVAL_MS: Final = 100

ReadFigures = Callable[[], Iterable[Figure]]


class Sending:
    """What one process sends; one is enough, and it is closed at the end.

    The exporters read their addresses, headers, certificates, timeouts and the sampler from the
    environment of the process, as the specification has it.

    Args:
        asked: which signals are sent.
        environment: the variables, for the interval of metrics.
    """

    def __init__(self, asked: AskedTelemetry, environment: Mapping[str, str]) -> None:
        _silence("opentelemetry.util")  # it logs headers that it cannot read
        self._asked = asked
        self._interval_ms = _interval_ms(environment)
        self._resource = _resource(asked.service_name)
        self._spans: BatchSpanProcessor | None = None
        self._figures: FiguresThread | None = None
        self._exporter: MetricExporter | None = None
        self.tracer: Tracer = NoOpTracer()
        if asked.traces:
            self._spans = BatchSpanProcessor(OTLPSpanExporter(session=Connection(Told("traces"))))
            provider = TracerProvider(resource=self._resource, shutdown_on_exit=False)
            provider.add_span_processor(self._spans)
            self.tracer = provider.get_tracer("percept", version("percept"))
        if asked.metrics:
            self._exporter = OTLPMetricExporter(session=Connection(Told("metrics")))
        # They log each attempt, with addresses; `collector` tells what is worth it.
        _silence("opentelemetry.exporter", "opentelemetry.sdk._shared_internal", "urllib3")

    @property
    def has_traces(self) -> bool:
        """Whether spans are sent."""
        return self._asked.traces

    def start_figures(self, read: ReadFigures) -> None:
        """Begin to send figures, if metrics are asked for.

        Args:
            read: returns all figures as they are now; called in a thread of its own.
        """
        if self._exporter is not None:
            self._figures = FiguresThread(self._exporter, self._resource, read, self._interval_ms)
            self._figures.start()

    def close(self, patience_seconds: float = _STOP_SECONDS) -> None:
        """Send what waits, but only for so long; what has not arrived then is lost."""
        closing = []
        if self._figures is not None:
            closing.append(threading.Thread(target=self._figures.close, daemon=True))
        if self._spans is not None:
            closing.append(threading.Thread(target=self._spans.shutdown, daemon=True))
        for thread in closing:
            thread.start()
        give_up = time.monotonic() + patience_seconds
        for thread in closing:
            thread.join(max(give_up - time.monotonic(), 0))


class FiguresThread(threading.Thread):
    """Sends figures from time to time, and once more at the end.

    Args:
        exporter: sends them.
        resource: who sends them.
        read: returns them.
        interval_ms: the pause between two reports.
    """

    def __init__(
        self, exporter: MetricExporter, resource: Resource, read: ReadFigures, interval_ms: int
    ) -> None:
        super().__init__(name="percept-figures", daemon=True)
        self._exporter = exporter
        self._resource = resource
        self._read = read
        self._interval_seconds = interval_ms / 1_000
        self._began_ns = time.time_ns()
        self._is_closing = threading.Event()
        self._has_failed = False

    def run(self) -> None:
        """Send until it is closed."""
        while not self._is_closing.wait(self._interval_seconds):
            self._send()
        self._send()

    def close(self) -> None:
        """Let the last figures go out, and wait for it."""
        self._is_closing.set()
        self.join()

    def _send(self) -> None:
        try:
            data = metrics_data(self._read(), self._resource, self._began_ns, time.time_ns())
            self._exporter.export(data)
        except Exception:  # noqa: BLE001 - the next figures may be read and sent again
            if not self._has_failed:
                self._has_failed = True
                _log.exception("OpenTelemetry: figures could not be read, which is told once")


def _silence(*names: str) -> None:
    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _interval_ms(environment: Mapping[str, str]) -> int:
    try:
        given = int(environment.get("OTEL_METRIC_EXPORT_INTERVAL", "") or _USUAL_INTERVAL_MS)
    except ValueError:
        _log.warning(
            "OTEL_METRIC_EXPORT_INTERVAL: write milliseconds as a whole number; it is %d",
            _USUAL_INTERVAL_MS,
        )
        return _USUAL_INTERVAL_MS
    return max(given, _SHORTEST_INTERVAL_MS)


def _resource(service_name: str) -> Resource:
    usual = {
        "service.name": service_name,
        "service.version": version("percept"),
        "service.instance.id": str(uuid.uuid4()),
    }
    # What is given to `create` goes before the environment, which is to go before it.
    given = OTELResourceDetector().detect().attributes
    return Resource.create({name: value for name, value in usual.items() if name not in given})

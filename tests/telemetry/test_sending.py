"""What a service and a job send, to a collector that takes it, is dead, slow, or refuses."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality
from opentelemetry.proto.trace.v1.trace_pb2 import Status
from prometheus_client import CollectorRegistry, Counter, Histogram

from api.observability.figures import figures_of
from contract.telemetry.asked import asked_telemetry
from contract.telemetry.figures import Figure
from contract.telemetry.opening import opened
from contract.telemetry.sending import Sending
from processor_runtime.driver.batch_times import BatchTimes
from processor_runtime.driver.job_status import JobStatus, Totals
from processor_runtime.telemetry.job_telemetry import JobTelemetry
from tests.patience import FAR_LONGER_SECONDS, eventually
from tests.ports import free_port
from tests.telemetry.collector import Collector, collecting, quick, values


@contextmanager
def sending_to(monkeypatch: pytest.MonkeyPatch, url: str, **variables: str) -> Iterator[Sending]:
    """Yield what sends to a collector, soon."""
    environment = quick(url) | variables
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    sending = opened(asked_telemetry(environment, "percept-job"), environment)
    assert sending is not None
    try:
        yield sending
    finally:
        sending.close()


def status(events: int, matches: int) -> JobStatus:
    return JobStatus(
        epoch=7,
        batch_id=41,
        watermark_ms=1_800_000_000_000,
        batch_duration_ms=1_500,
        totals=Totals(events=events, matches=matches),
    )


def ended(batch_id: int, *names: str) -> BatchTimes:
    times = BatchTimes(batch_id)
    for name in names:
        with times.part(name):
            pass
    return times


def test_a_batch_is_a_span_with_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    with collecting() as collector, sending_to(monkeypatch, collector.url) as sending:
        telemetry = JobTelemetry(sending, "logins", "eu")
        telemetry.done(ended(40), status(1_000, 3))
        telemetry.done(ended(41, "pin rules", "read and match", "write outputs"), status(1_500, 5))
        eventually(lambda: len(collector.spans) == 5)
    _, batch = sorted(collector.named("batch"), key=lambda span: span.start_time_unix_nano)
    assert values(batch.attributes) == {
        "percept.stream": "logins",
        "percept.job": "eu",
        "percept.batch.id": 41,
        "percept.epoch": 7,
        "percept.watermark_ms": 1_800_000_000_000,
        "percept.batch.events": 500,
        "percept.batch.matches": 2,
        "percept.batch.timeouts": 0,
        "percept.batch.errors": 0,
        "percept.batch.late": 0,
    }
    parts = [span for span in collector.spans if span.parent_span_id == batch.span_id]
    parts.sort(key=lambda span: span.start_time_unix_nano)
    assert [span.name for span in parts] == ["pin rules", "read and match", "write outputs"]
    ends = [batch.start_time_unix_nano]
    for part in parts:
        assert ends[-1] <= part.start_time_unix_nano <= part.end_time_unix_nano
        assert part.trace_id == batch.trace_id
        ends.append(part.end_time_unix_nano)
    assert ends[-1] <= batch.end_time_unix_nano
    assert {each["service.name"] for each in collector.resources} == {"percept-job"}


def test_a_batch_that_fails_tells_the_kind_of_failure_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with collecting() as collector, sending_to(monkeypatch, collector.url) as sending:
        telemetry = JobTelemetry(sending, "logins", "eu")
        times = BatchTimes(3)
        with pytest.raises(OSError, match="hush"), times.part("write outputs"):
            raise OSError("password hush")
        telemetry.failed(times, OSError("password hush"))
        eventually(lambda: collector.named("batch"))
    (batch,) = collector.named("batch")
    assert batch.status.code == Status.STATUS_CODE_ERROR
    assert values(batch.attributes)["error.type"] == "OSError"
    assert [span.name for span in collector.spans if span.parent_span_id] == ["write outputs"]
    assert not any(b"hush" in body for body in collector.bodies)


def test_figures_of_a_job_are_those_of_its_newest_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    with collecting() as collector, sending_to(monkeypatch, collector.url) as sending:
        JobTelemetry(sending, "logins", "eu").done(ended(41), status(1_500, 5))
        eventually(lambda: collector.metrics)
    counted = collector.metrics["percept_job_events_total"].sum
    assert counted.is_monotonic
    assert counted.aggregation_temporality == (
        AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
    )
    assert counted.data_points[0].as_int == 1_500
    labels = {"stream": "logins", "job": "eu"}
    assert values(counted.data_points[0].attributes) == labels
    watermark = collector.metrics["percept_job_watermark_timestamp_seconds"]
    assert watermark.unit == "s"
    assert watermark.gauge.data_points[0].as_double == 1_800_000_000
    assert "percept_job_backlog_events" not in collector.metrics


def test_a_histogram_has_the_counts_of_its_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = CollectorRegistry()
    seconds = Histogram("answer_seconds", "Time.", ["route"], buckets=(1, 2), registry=registry)
    changes = Counter("changes_total", "Changes.", registry=registry)
    for value in (0.5, 1.5, 1.7, 9):
        seconds.labels("/a").observe(value)
    seconds.labels("/b").observe(2)
    changes.inc(3)
    with collecting() as collector, sending_to(monkeypatch, collector.url) as sending:
        sending.start_figures(lambda: figures_of(registry))
        eventually(lambda: collector.metrics)
    first, second = collector.metrics["answer_seconds"].histogram.data_points
    assert values(first.attributes) == {"route": "/a"}
    assert (list(first.explicit_bounds), list(first.bucket_counts)) == ([1, 2], [1, 2, 1])
    assert (first.count, first.sum) == (4, 12.7)
    assert not first.HasField("min")
    assert (list(second.bucket_counts), second.count) == ([0, 1, 0], 1)
    assert collector.metrics["changes_total"].sum.data_points[0].as_double == 3


def test_the_environment_names_the_service_and_the_headers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    variables = {
        "OTEL_SERVICE_NAME": "alerts",
        "OTEL_RESOURCE_ATTRIBUTES": "service.instance.id=one,deployment.environment.name=test",
        "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20hush",
        "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
        "OTEL_METRICS_EXPORTER": "none",
    }
    with collecting() as collector, sending_to(monkeypatch, collector.url, **variables) as sending:
        JobTelemetry(sending, "logins", "eu").done(ended(1), status(1, 0))
        eventually(lambda: collector.spans)
    (resource,) = collector.resources
    assert resource["service.name"] == "alerts"
    assert resource["service.instance.id"] == "one"
    assert resource["deployment.environment.name"] == "test"
    assert collector.headers[0]["authorization"] == "Bearer hush"
    assert set(collector.requests) == {"/v1/traces"}
    assert not any(b"hush" in body for body in collector.bodies)


def test_a_collector_that_refuses_is_told_of_once_and_once_when_it_takes_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    with (
        collecting(status=500) as collector,
        sending_to(
            monkeypatch, collector.url, OTEL_EXPORTER_OTLP_HEADERS="key=hush,no header hush"
        ) as sending,
    ):
        telemetry = JobTelemetry(sending, "logins", "eu")
        for batch in range(3):
            telemetry.done(ended(batch), status(batch, 0))
            eventually(partial(_has_spans, collector, batch + 1))
        eventually(lambda: "metrics do not reach the collector" in caplog.text)
        assert caplog.text.count("traces do not reach the collector (it answers 500)") == 1
        assert caplog.text.count("metrics do not reach the collector (it answers 500)") == 1
        collector.status = 200
        telemetry.done(ended(9), status(9, 0))
        eventually(lambda: "traces reach the collector again" in caplog.text)
    eventually(lambda: caplog.text.count("again\n") == 2)
    assert len(caplog.records) == 4
    assert "hush" not in caplog.text


@pytest.mark.parametrize("kind", ["dead", "slow"])
def test_a_collector_that_does_not_answer_holds_nothing_up(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    caplog.set_level(logging.WARNING)
    # An export would take far longer than the test may: whoever waited for it would be noticed.
    with collecting(is_slow=True) as collector:
        url = collector.url if kind == "slow" else f"http://127.0.0.1:{free_port()}"
        timeout = {"OTEL_EXPORTER_OTLP_TIMEOUT": f"{FAR_LONGER_SECONDS:.0f}"}
        queue = {"OTEL_BSP_MAX_QUEUE_SIZE": "100", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "10"}
        with sending_to(monkeypatch, url, **timeout, **queue) as sending:
            telemetry = JobTelemetry(sending, "logins", "eu")
            for batch in range(1_000):
                telemetry.done(ended(batch, "pin rules"), status(batch, 0))
            if kind == "slow":
                eventually(lambda: {"/v1/traces", "/v1/metrics"} == set(collector.requests))
            else:
                eventually(lambda: caplog.text.count("do not reach the collector (no conn") == 2)
    for signal in ("traces", "metrics"):
        assert caplog.text.count(f"{signal} do not reach") <= 1
    assert len(caplog.records) <= 2


def test_figures_that_cannot_be_read_are_told_of_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    reads = []

    def read() -> Iterator[Figure]:
        reads.append(1)
        raise LookupError("no store")

    with collecting() as collector, sending_to(monkeypatch, collector.url) as sending:
        sending.start_figures(read)
        eventually(lambda: len(reads) > 2)
    assert caplog.text.count("figures could not be read") == 1
    assert not collector.metric_messages


def _has_spans(collector: Collector, number: int) -> bool:
    return len(collector.spans) >= number

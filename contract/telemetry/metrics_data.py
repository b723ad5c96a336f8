"""Figures in the form that the exporter of OpenTelemetry takes.

Figure ──metrics_data──► MetricsData ──► OTLPMetricExporter

Names stay as they are at `/metrics`. Counters and histograms are cumulative.
"""

from collections.abc import Iterable

from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from contract.telemetry.figures import Figure


def metrics_data(
    figures: Iterable[Figure], resource: Resource, began_ns: int, now_ns: int
) -> MetricsData:
    """Return all figures as one message.

    Args:
        figures: in any order.
        resource: who sends them.
        began_ns: since when counters count, nanoseconds since 1970.
        now_ns: the moment they are of.
    """
    metrics = [_metric(each, began_ns, now_ns) for each in figures]
    scope = ScopeMetrics(InstrumentationScope("percept"), metrics, "")
    return MetricsData([ResourceMetrics(resource, [scope], "")])


def _metric(figure: Figure, began_ns: int, now_ns: int) -> Metric:
    unit = "s" if figure.name.endswith("_seconds") else ""
    data: Gauge | Sum | Histogram
    if figure.kind == "histogram":
        data = Histogram(
            [
                HistogramDataPoint(
                    attributes=dict(each.labels),
                    start_time_unix_nano=began_ns,
                    time_unix_nano=now_ns,
                    count=sum(each.counts),
                    sum=each.total,
                    bucket_counts=each.counts,
                    explicit_bounds=each.bounds,
                    min=None,  # type: ignore[arg-type] # not known, and so not sent
                    max=None,  # type: ignore[arg-type]
                )
                for each in figure.distributions
            ],
            AggregationTemporality.CUMULATIVE,
        )
    else:
        points = [
            NumberDataPoint(dict(each.labels), began_ns, now_ns, each.value)
            for each in figure.numbers
        ]
        data = (
            Gauge(points)
            if figure.kind == "gauge"
            else Sum(points, AggregationTemporality.CUMULATIVE, is_monotonic=True)
        )
    return Metric(figure.name, figure.text, unit, data)

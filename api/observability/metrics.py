"""Prometheus metrics of one service; every app has its own registry, so that tests are isolated."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """The metrics of one running service."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Histogram(
            "percept_http_request_seconds",
            "Time to answer a request; long-polls have a series of their own.",
            ["method", "route", "status", "waited"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.changes = Counter(
            "percept_changes_total",
            "Changes written to the log.",
            ["action"],
            registry=self.registry,
        )
        self.epochs = Gauge(
            "percept_stream_epoch", "Newest epoch of a stream.", ["stream"], registry=self.registry
        )
        self.refusals = Counter(
            "percept_refused_logins_total",
            "Requests without a valid token.",
            registry=self.registry,
        )
        self.waiting_readers = Gauge(
            "percept_waiting_readers",
            "Long-polls and listeners that wait now.",
            registry=self.registry,
        )

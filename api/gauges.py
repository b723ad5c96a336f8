"""Gauges of what the store holds, read from it at each scrape.

slices ──Gauge──► StoreGauges ──► /metrics
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import structlog
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from sqlalchemy.orm import Session

from api.store.database import Database
from api.store.readiness import Readiness
from api.store.unavailable import StoreUnavailable

_log = structlog.get_logger("percept.metrics")


@dataclass(frozen=True, slots=True)
class Gauge:
    """One number for each combination of labels.

    `count` returns rows that end with the number, in front of it one text for each label.
    """

    name: str
    text: str
    labels: tuple[str, ...]
    count: Callable[[Session], Iterable[Sequence[str | int]]]


class StoreGauges(Collector):
    """Collects gauges in one transaction; without any, while the store is away."""

    def __init__(self, database: Database, readiness: Readiness, gauges: Sequence[Gauge]) -> None:
        self._database = database
        self._readiness = readiness
        self._gauges = gauges

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the gauges, unless the store is away."""
        if not self._readiness.was_ready:
            return
        try:
            with self._database.reading() as session:
                families = [_family(gauge, session) for gauge in self._gauges]
        except StoreUnavailable as error:
            _log.warning("no metrics of the store, which does not answer", error=str(error))
            return
        yield from families


def _family(gauge: Gauge, session: Session) -> GaugeMetricFamily:
    family = GaugeMetricFamily(gauge.name, gauge.text, labels=gauge.labels)
    for *labels, number in gauge.count(session):
        family.add_metric([str(label) for label in labels], float(number))
    return family

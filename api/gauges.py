"""Gauges of what the store holds, read from it at each scrape.

repositories of slices ──GAUGES──► StoreGauges ──► /metrics
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import structlog
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from sqlalchemy.orm import Session

from api.backtests.repository import count_by_state as count_backtests
from api.list_store.repository import counts_in_effect, latest_versions
from api.proposals.repository import counts_of_open as count_open_proposals
from api.rollouts.repository import count_compared
from api.snooze_store.repository import counts_of_open as count_open_snoozes
from api.store.database import Database
from api.store.readiness import Readiness
from api.store.unavailable import StoreUnavailable
from api.triage.repository import count_recent
from api.webhooks.repository import counts_by_state as count_deliveries

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


GAUGES: Final = (
    Gauge(
        "percept_recent_matches",
        "Recent matches and timeouts that are kept, by status of their triage.",
        ("stream", "status"),
        count_recent,
    ),
    Gauge(
        "percept_backtests",
        "Backtests that are kept, by their state.",
        ("stream", "state"),
        count_backtests,
    ),
    Gauge("percept_open_proposals", "Proposals that are open.", ("stream",), count_open_proposals),
    Gauge(
        "percept_rollout_matches",
        "Matches compared while a version is tried, by which of the two versions found them.",
        ("stream", "processor", "found_by"),
        count_compared,
    ),
    Gauge(
        "percept_list_values",
        "Values of the newest version of a list that jobs are given.",
        ("stream", "list"),
        counts_in_effect,
    ),
    Gauge(
        "percept_list_versions",
        "Versions that a list has had.",
        ("stream", "list"),
        latest_versions,
    ),
    Gauge(
        "percept_snoozes",
        "Snoozes that jobs are given; those that have been over for less than a day among them.",
        ("stream",),
        count_open_snoozes,
    ),
    Gauge(
        "percept_webhook_deliveries",
        "Messages of webhooks that are kept, by state.",
        ("webhook", "state"),
        count_deliveries,
    ),
)


class StoreGauges(Collector):
    """Collects `GAUGES` in one transaction; nothing while the store is away."""

    def __init__(self, database: Database, readiness: Readiness) -> None:
        self._database = database
        self._readiness = readiness

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the gauges, unless the store is away."""
        if not self._readiness.was_ready:
            return
        try:
            with self._database.reading() as session:
                families = [_family(gauge, session) for gauge in GAUGES]
        except StoreUnavailable as error:
            _log.warning("no metrics of the store, which does not answer", error=str(error))
            return
        yield from families


def _family(gauge: Gauge, session: Session) -> GaugeMetricFamily:
    family = GaugeMetricFamily(gauge.name, gauge.text, labels=gauge.labels)
    for *labels, number in gauge.count(session):
        family.add_metric([str(label) for label in labels], float(number))
    return family

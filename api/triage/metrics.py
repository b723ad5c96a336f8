"""How many recent matches have which status, read from the store at each scrape."""

from collections.abc import Iterator

import structlog
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from api.store.database import Database
from api.store.readiness import Readiness
from api.store.unavailable import StoreUnavailable
from api.triage import repository

_log = structlog.get_logger("percept.triage")


class TriageCollector(Collector):
    """Collects what waits to be looked at, and what was found to be false."""

    def __init__(self, database: Database, readiness: Readiness) -> None:
        self._database = database
        self._readiness = readiness

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the recent matches of each stream by status, unless the store is away."""
        if not self._readiness.was_ready:
            return
        try:
            with self._database.reading() as session:
                counted = repository.count_recent(session)
        except StoreUnavailable as error:
            _log.warning("no metrics of matches: the store does not answer", error=str(error))
            return
        family = GaugeMetricFamily(
            "percept_recent_matches",
            "Recent matches and timeouts that are kept, by status of their triage.",
            labels=("stream", "status"),
        )
        for stream, status, count in counted:
            family.add_metric((stream, status), count)
        yield family

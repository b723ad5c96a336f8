"""A custom discoverer: each line of a CSV file is a rule, "n failures within a time".

In a job file:

    discoverer:
      type: thresholds:ThresholdsFactory
      path: thresholds.csv
"""

import csv
from pathlib import Path

from pydantic import Field

from percept.discoverers import (
    DiscovererSurroundings,
    FoundProcessors,
    FoundVersion,
    PatternProcessorDiscovererFactory,
    PeriodicPatternProcessorDiscoverer,
    StreamDefinition,
    found_version,
)

STREAM = {
    "version": 1,
    "schema": "user STRING, user_group STRING, action STRING, ts TIMESTAMP",
    "event_time_column": "ts",
    "allowed_delay_ms": 0,
    "order_by": [],
}


class ThresholdsFactory(PatternProcessorDiscovererFactory):
    """The options in the job file: checked, with messages, before anything runs."""

    path: Path
    interval_seconds: float = Field(default=5, gt=0)

    def create_discoverer(self, surroundings: DiscovererSurroundings) -> "ThresholdsDiscoverer":
        """Return the discoverer."""
        return ThresholdsDiscoverer(self, surroundings)


class ThresholdsDiscoverer(PeriodicPatternProcessorDiscoverer):
    """Reads the CSV; the base class handles failures, backoff, numbers and changes."""

    def __init__(self, options: ThresholdsFactory, surroundings: DiscovererSurroundings) -> None:
        super().__init__(
            interval_seconds=options.interval_seconds,
            initial=surroundings.initial,
            clock=surroundings.clock,
        )
        self._path = options.path
        self._stream = StreamDefinition.model_validate(STREAM | {"name": surroundings.stream})

    def get_processors(self) -> FoundProcessors:
        """Return one processor per line."""
        with self._path.open(encoding="utf-8", newline="") as file:
            versions = [self._version(line) for line in csv.DictReader(file)]
        return FoundProcessors(stream=self._stream, versions=tuple(versions))

    def _version(self, line: dict[str, str]) -> FoundVersion:
        document = {
            "id": f"failures-{line['group']}",
            "stream": self._stream.name,
            "pattern": {
                "steps": [
                    {
                        "name": "failed",
                        "where": f"action = 'fail' AND user_group = '{line['group']}'",
                        "times": int(line["failures"]),
                    }
                ],
                "within": f"{line['minutes']} minutes",
            },
            "key_by": ["user"],
        }
        return found_version(document, origin=f"{self._path} {line['group']}")

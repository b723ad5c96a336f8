"""A source that does what a script says, a clock that tests move, a manager that remembers."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from contract.snapshot import SnapshotProcessor
from discoverers import (
    BackgroundDiscovery,
    Backoff,
    Clock,
    DiscovererSurroundings,
    FoundProcessors,
    PeriodicPatternProcessorDiscoverer,
    ProcessorProblem,
    Snapshot,
    StreamDefinition,
    create_discoverer,
    found_version,
)

STREAM_KEYS: dict[str, Any] = {
    "schema": "user STRING, action STRING, ts TIMESTAMP",
    "event_time_column": "ts",
}
STREAM = StreamDefinition.model_validate(
    STREAM_KEYS | {"name": "logins", "version": 1, "allowed_delay_ms": 0, "order_by": []}
)


def document(name: str, action: str = "fail", **keys: Any) -> dict[str, Any]:
    where = f"action = '{action}'"
    steps = [{"name": "step", "where": where}]
    return {"id": name, "stream": "logins", "pattern": {"steps": steps}} | keys


def found(
    *documents: Mapping[str, Any],
    problems: tuple[ProcessorProblem, ...] = (),
    stream: StreamDefinition = STREAM,
) -> FoundProcessors:
    """Return what a source holds that has these documents and does not number them."""
    versions = tuple(found_version(each, f"{each['id']}.yaml") for each in documents)
    return FoundProcessors(stream=stream, versions=versions, problems=problems)


def actions(snapshot: Snapshot | None) -> dict[str, list[str]]:
    """Return what each processor looks for, by version; nothing before the first snapshot."""
    if snapshot is None:
        return {}
    return {
        each.id: [
            version.definition["pattern"]["steps"][0]["where"].split("'")[1]
            for version in each.versions
        ]
        for each in snapshot.processors
    }


def newest_of(job: BackgroundDiscovery) -> Snapshot:
    """Return the newest snapshot, which there must be."""
    snapshot = job.latest()
    assert snapshot is not None
    return snapshot


def numbers(snapshot: Snapshot) -> dict[str, list[int]]:
    return {each.id: [version.version for version in each.versions] for each in snapshot.processors}


@dataclass
class FakeTime:
    """A clock that moves only by being waited on; `pauses` are the waits, in seconds."""

    time_ms: int = 1_000_000
    pauses: list[float] = field(default_factory=list)

    def clock(self) -> Clock:
        return Clock(lambda: self.time_ms, self._wait, lambda: sum(self.pauses))

    def _wait(self, event: threading.Event, seconds: float) -> bool:
        self.pauses.append(seconds)
        self.time_ms += round(seconds * 1000)
        return event.is_set()


@dataclass
class RememberingManager:
    """A manager that keeps everything it was told."""

    told: list[Snapshot] = field(default_factory=list)

    @property
    def current_processors(self) -> list[SnapshotProcessor]:
        return list(self.told[-1].processors) if self.told else []

    def on_pattern_processors_updated(self, snapshot: Snapshot) -> None:
        self.told.append(snapshot)


class ScriptedDiscoverer(PeriodicPatternProcessorDiscoverer):
    """Reads one item of a script after the other, raises those that are errors, then closes."""

    def __init__(
        self, *script: FoundProcessors | Exception | None, initial: Snapshot | None = None
    ) -> None:
        self.time = FakeTime()
        super().__init__(
            interval_seconds=5,
            initial=initial,
            clock=self.time.clock(),
            backoff=Backoff(first_seconds=1, limit_seconds=8, jitter=lambda: 1.0),
        )
        self._script = list(script)

    def get_processors(self) -> FoundProcessors | None:
        if len(self._script) == 1:
            self.close_after_this()
        item = self._script.pop(0)
        if isinstance(item, Exception):
            raise item
        return item

    def close_after_this(self) -> None:
        """Close once the reading under way has been handed on."""
        wait = self._clock.wait

        def closing_wait(event: threading.Event, seconds: float) -> bool:
            self.close()
            return wait(event, seconds)

        self._clock = replace(self._clock, wait=closing_wait)

    def snapshots(self) -> list[Snapshot]:
        """Return what a manager is told while the script is played."""
        manager = RememberingManager()
        self.discover_pattern_processor_updates(manager)
        return manager.told


def surroundings(
    environment: Mapping[str, str] | None = None, initial: Snapshot | None = None
) -> DiscovererSurroundings:
    return DiscovererSurroundings(stream="logins", environment=environment or {}, initial=initial)


def running(
    config: Mapping[str, Any],
    environment: Mapping[str, str] | None = None,
    initial: Snapshot | None = None,
) -> BackgroundDiscovery:
    """Return a discoverer of a job file, to be begun in a thread of its own."""
    discoverer = create_discoverer(config, surroundings(environment, initial))
    return BackgroundDiscovery(discoverer, initial)

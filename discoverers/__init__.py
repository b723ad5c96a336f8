"""Sources of processors: the driver side of a job, without Spark and without a web framework.

    source ──► discoverer ──► checked, numbered snapshot ──► BackgroundDiscovery ──► job

A job needs `create_discoverer` (by name, from its job file) and `BackgroundDiscovery` (one thread,
the newest snapshot at any time). A custom discoverer subclasses
`PeriodicPatternProcessorDiscoverer`.

Source: FLIP-200, "Support Multiple Rule and Dynamic Rule Changing".
"""

from contract.snapshot import (
    Snapshot,
    StreamDefinition,
    content_hash,
    read_snapshot,
    snapshot_json,
)
from discoverers.background import BackgroundDiscovery, NoSnapshotError
from discoverers.clock import Backoff, Clock
from discoverers.discoverer import (
    DiscovererSurroundings,
    PatternProcessorDiscoverer,
    PatternProcessorDiscovererFactory,
    PatternProcessorManager,
)
from discoverers.factories import DiscovererConfigError, create_discoverer
from discoverers.found import FoundProcessors, FoundVersion, ProcessorProblem, found_version
from discoverers.health import DiscovererHealth, HealthStatus
from discoverers.periodic import PeriodicPatternProcessorDiscoverer

__all__ = [
    "BackgroundDiscovery",
    "Backoff",
    "Clock",
    "DiscovererConfigError",
    "DiscovererHealth",
    "DiscovererSurroundings",
    "FoundProcessors",
    "FoundVersion",
    "HealthStatus",
    "NoSnapshotError",
    "PatternProcessorDiscoverer",
    "PatternProcessorDiscovererFactory",
    "PatternProcessorManager",
    "PeriodicPatternProcessorDiscoverer",
    "ProcessorProblem",
    "Snapshot",
    "StreamDefinition",
    "content_hash",
    "create_discoverer",
    "found_version",
    "read_snapshot",
    "snapshot_json",
]

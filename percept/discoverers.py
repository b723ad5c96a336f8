"""The classes for custom discoverers, which are sources of a job's processors."""

from percept._packages import own_packages

with own_packages("cep", "contract", "discoverers"):
    from discoverers import (
        DiscovererHealth,
        DiscovererSurroundings,
        FoundProcessors,
        FoundVersion,
        HealthStatus,
        PatternProcessorDiscoverer,
        PatternProcessorDiscovererFactory,
        PatternProcessorManager,
        PeriodicPatternProcessorDiscoverer,
        ProcessorProblem,
        Snapshot,
        StreamDefinition,
        content_hash,
        found_version,
    )

__all__ = [
    "DiscovererHealth",
    "DiscovererSurroundings",
    "FoundProcessors",
    "FoundVersion",
    "HealthStatus",
    "PatternProcessorDiscoverer",
    "PatternProcessorDiscovererFactory",
    "PatternProcessorManager",
    "PeriodicPatternProcessorDiscoverer",
    "ProcessorProblem",
    "Snapshot",
    "StreamDefinition",
    "content_hash",
    "found_version",
]

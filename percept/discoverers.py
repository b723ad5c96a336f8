"""What a discoverer of one's own is made of: where a job finds its processors."""

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

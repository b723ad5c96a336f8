"""The metrics of `/metrics` as figures, so that each is defined once.

registry ──figures_of──► Figure ──► collector of OpenTelemetry
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.samples import Sample

from contract.telemetry.figures import Distribution, Figure, Number

_BOUND: Final = "le"


def figures_of(registry: CollectorRegistry) -> Iterator[Figure]:
    """Yield every metric of a registry under its name at `/metrics`."""
    for family in registry.collect():
        if family.type == "histogram":
            yield Figure(
                family.name,
                family.documentation,
                "histogram",
                distributions=tuple(_distributions(family)),
            )
        elif family.type == "counter":
            name = f"{family.name}_total"
            yield Figure(name, family.documentation, "counter", _numbers(family, name))
        else:
            yield Figure(family.name, family.documentation, "gauge", _numbers(family, family.name))


def _numbers(family: Metric, name: str) -> tuple[Number, ...]:
    return tuple(
        Number(sample.labels, sample.value) for sample in family.samples if sample.name == name
    )


def _distributions(family: Metric) -> Iterator[Distribution]:
    """Yield the series of a histogram; Prometheus counts what is at or below each bound."""
    series: dict[tuple[tuple[str, str], ...], list[Sample]] = {}
    for sample in family.samples:
        series.setdefault(_labels(sample.labels), []).append(sample)
    for labels, samples in series.items():
        below = [
            (float(sample.labels[_BOUND]), int(sample.value))
            for sample in samples
            if sample.name.endswith("_bucket")
        ]
        counts = [0, *(count for _, count in below)]
        yield Distribution(
            labels=dict(labels),
            bounds=tuple(bound for bound, _ in below[:-1]),
            counts=tuple(upper - lower for lower, upper in pairwise(counts)),
            total=next(each.value for each in samples if each.name.endswith("_sum")),
        )


def _labels(labels: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(item for item in labels.items() if item[0] != _BOUND)

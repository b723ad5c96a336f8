"""Numbers of a service or a job at one moment, as plain data.

registry of the service, status of a job ──► Figure ──► metrics_data
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Number:
    """One number, of what its labels say."""

    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class Distribution:
    """How many values fell into each bucket.

    `bounds` are the upper bounds of all buckets but the last, ascending; `counts` has one number
    for each bucket, and so one more. `total` is the sum of all values.
    """

    labels: Mapping[str, str]
    bounds: Sequence[float]
    counts: Sequence[int]
    total: float


@dataclass(frozen=True, slots=True)
class Figure:
    """One metric: `numbers` if it is a gauge or a counter, else `distributions`.

    A counter counts from the start of the process.
    """

    name: str
    text: str
    kind: Literal["gauge", "counter", "histogram"]
    numbers: Sequence[Number] = ()
    distributions: Sequence[Distribution] = ()

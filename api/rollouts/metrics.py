"""How what versions that are tried find differs from what is published."""

from typing import Final

from api.gauges import Gauge
from api.rollouts.repository import count_compared

COMPARED_MATCHES: Final = Gauge(
    "percept_rollout_matches",
    "Matches compared while a version is tried, by which of the two versions found them.",
    ("stream", "processor", "found_by"),
    count_compared,
)

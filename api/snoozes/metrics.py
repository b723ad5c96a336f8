"""How many snoozes jobs are given."""

from typing import Final

from api.gauges import Gauge
from api.snooze_store.repository import counts_of_open

SNOOZES: Final = Gauge(
    "percept_snoozes",
    "Snoozes that jobs are given; those that have been over for less than a day among them.",
    ("stream",),
    counts_of_open,
)

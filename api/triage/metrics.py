"""How many recent matches have which status."""

from typing import Final

from api.gauges import Gauge
from api.triage.repository import count_recent

RECENT_MATCHES: Final = Gauge(
    "percept_recent_matches",
    "Recent matches and timeouts that are kept, by status of their triage.",
    ("stream", "status"),
    count_recent,
)

"""How many backtests wait, run and have ended."""

from typing import Final

from api.backtests.repository import count_by_state
from api.gauges import Gauge

BACKTESTS: Final = Gauge(
    "percept_backtests",
    "Backtests that are kept, by their state.",
    ("stream", "state"),
    count_by_state,
)

"""How many proposals wait to be approved, rejected or published."""

from typing import Final

from api.gauges import Gauge
from api.proposals.repository import counts_of_open

OPEN_PROPOSALS: Final = Gauge(
    "percept_open_proposals", "Proposals that are open.", ("stream",), counts_of_open
)

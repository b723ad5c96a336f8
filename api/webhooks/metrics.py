"""How many messages of webhooks are on their way, have arrived, or have not."""

from typing import Final

from api.gauges import Gauge
from api.webhooks.repository import counts_by_state

WEBHOOK_DELIVERIES: Final = Gauge(
    "percept_webhook_deliveries",
    "Messages of webhooks that are kept, by state.",
    ("webhook", "state"),
    counts_by_state,
)

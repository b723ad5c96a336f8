"""How long the lists of streams are, and how often they were changed."""

from typing import Final

from api.gauges import Gauge
from api.list_store.repository import counts_in_effect, latest_versions

LIST_VALUES: Final = Gauge(
    "percept_list_values",
    "Values of the newest version of a list that jobs are given.",
    ("stream", "list"),
    counts_in_effect,
)
LIST_VERSIONS: Final = Gauge(
    "percept_list_versions", "Versions that a list has had.", ("stream", "list"), latest_versions
)

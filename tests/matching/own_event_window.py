"""A pattern with a window that is over at the time of the event that opens it."""

from typing import Any

OVER_AT_ITS_OWN_EVENT: dict[str, Any] = {
    "steps": [
        {"name": "s0", "where": "name = 'a'", "times": {"from": 1, "to": None}, "inner": "relaxed"},
        {
            "contiguity": "followed_by",
            "group": {"steps": [{"name": "s1", "where": "name = 'a'"}]},
            "optional": True,
        },
        {
            "contiguity": "followed_by",
            "name": "s2",
            "where": "name = 'a'",
            "within_ms": 1,
            "within_type": "previous_and_current",
        },
        {"contiguity": "not_next", "name": "n3", "where": "name = 'a'"},
    ],
    "within_ms": 3,
}
"""An event that is only ignored brings partial matches to `s2`, whose window is over by then."""

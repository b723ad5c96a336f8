"""What names a match whichever version of its rule found it, and whatever the steps are called.

OutputRow ──match_identity──► compared between versions, in backtests and in the rule service
"""

import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any


def match_identity(
    processor_id: str | None, key: str | None, events: Mapping[str, Sequence[Any]]
) -> str:
    """Return 32 hexadecimal digits, equal for equal rules, keys and events.

    `key`: its key, as JSON. `events`: the events by step, as read from JSON.
    """
    taken = sorted(json.dumps(event, sort_keys=True) for step in events.values() for event in step)
    name = json.dumps([processor_id, key, taken])
    return blake2b(name.encode(), digest_size=16).hexdigest()

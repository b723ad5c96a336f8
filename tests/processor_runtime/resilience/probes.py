"""Rules that find each probe of a name that does not exist, and what they find by plain Python.

examples/ssh_auth ──► PROBES ──suppressed_by_address──► what goes out, and what is held back
"""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Final

import polars as pl

from tests.processor_runtime.resilience.ssh_auth_stream import Document, Event, frame
from tests.processor_runtime.written_rows import Row

PROBES: Final = frame().filter(
    pl.col("event_type") == "invalid_user", pl.col("src_ip").is_not_null()
)
BY_ADDRESS: Final = {"suppress": {"by": ["ip"], "for": "10 minutes"}}
"""The key `alert` of rules that are silent about an address for a while."""
_FOR_MS: Final = 600_000


def rule(name: str, where: str = "", **keys: Any) -> Document:
    """Return a rule that finds each probe of a name that does not exist."""
    step = {"name": "probe", "where": f"event_type = 'invalid_user'{where}"}
    return {
        "id": name,
        "stream": "ssh_auth",
        "key_by": ["src_ip"],
        "pattern": {"steps": [step]},
        "select": {"event_id": "probe.event_id", "ip": "probe.src_ip"},
    } | keys


def no_snooze(_probe: Event) -> bool:
    return False


def suppressed_by_address(is_snoozed: Callable[[Event], bool]) -> tuple[list[int], list[int]]:
    """Return the probes that go out, and those that are held back, as `BY_ADDRESS` says."""
    until_ms: dict[str, int] = {}
    out: list[int] = []
    held: list[int] = []
    for event in PROBES.iter_rows(named=True):
        is_silent = event["time_ms"] < until_ms.get(event["src_ip"], event["time_ms"])
        if is_snoozed(event) or is_silent:
            held.append(event["event_id"])
        else:
            out.append(event["event_id"])
            until_ms[event["src_ip"]] = event["time_ms"] + _FOR_MS
    return out, held


def ids(rows: Iterable[Row], rule_id: str, kind: str) -> Counter[int]:
    """Return the events of the rows of a kind that a rule has found."""
    return Counter(
        row["output"]["event_id"]
        for row in rows
        if (row["processor_id"], row["kind"]) == (rule_id, kind)
    )

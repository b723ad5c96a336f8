"""A case of the corpus of windows as a rule of a job: both stages, batches, restarts, late events.

case ──document, stream──► Pipeline, events as they arrive ──► what alerts, in order of events
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Final

from pydantic_core import from_json

from contract.snapshot import SnapshotVersion, StreamDefinition
from tests.conformance.windows.cases import (
    alerts,
    columns_of,
    condition_of,
    cooldown_of,
    expected,
    is_sayable,
    needs_job,
    row_of,
    versions_of,
)
from tests.letters import processor, version
from tests.processor_runtime.core.pipeline import Options, Pipeline

_END_MS: Final = 10**13
_NEW: Final = 2
_WATERMARKS_ALONE_MS: Final = 10**13
"""A delay with which no event lets time go on."""


def is_right(case: Mapping[str, Any]) -> bool:
    """Return whether the product answers a case: `find_matches`, or a job where that is needed."""
    if not is_sayable(case):
        return False
    random = Random(0)  # noqa: S311 - the same batches always
    found = alerts_of_job(case, random) if needs_job(case) else alerts(case)
    return found == expected(case)


def alerts_of_job(case: Mapping[str, Any], random: Random) -> list[Any]:
    """Return the numbers of the events at which the rule of a case alerts, in order.

    Where a version replaces another each goes with "old" or "new".
    """
    has_watermarks = any("watermark" in event for event in case["events"])
    delay_ms = (case.get("arrival") or {}).get("delay_needed_ms", 0)
    stream = StreamDefinition(
        name="events",
        version=1,
        schema=columns_of(case),
        event_time_column="ts",
        allowed_delay_ms=_WATERMARKS_ALONE_MS if has_watermarks else delay_ms,
        order_by=list(case.get("order_by", ())),
    )
    job = Pipeline(stream, Options(shards=random.randint(1, 3)))
    job.publish(processor("rule", *_versions(case)))
    for part in _parts(case, random):
        match part:
            case [{"watermark": time_ms}]:
                job.advance(time_ms)
            case [{"restart": _}]:
                job.restart()
            case events:
                job.batch([row_of(case, event) for event in events])
    job.advance(_END_MS)
    order = {number: place for place, number in enumerate(_in_order(case))}
    rows = job.rows_of("match")
    found = [(from_json(row.events or "")["event"][0]["n"], row.version) for row in rows]
    found.sort(key=lambda each: order[each[0]])
    if case["construct"] == "replaced":
        return [[number, "new" if version == _NEW else "old"] for number, version in found]
    return [number for number, _ in found]


def _versions(case: Mapping[str, Any]) -> list[SnapshotVersion]:
    """Return the versions of the rule; its key is what the partitions of all have in common."""
    params, found = case["params"], []
    for number, each in enumerate(versions_of(case), 1):
        pattern = {"steps": [{"name": "event", "where": condition_of(each)}]}
        more: dict[str, Any] = {"key_by": _key(case)}
        if cooldown := cooldown_of(each):
            more["select"] = {name: f"event.{name}" for name in cooldown["by"]}
            more["alert"] = {"suppress": {"by": cooldown["by"], "for": f"{cooldown['ms']} ms"}}
        if case["construct"] == "replaced":
            more["on_update"] = params["on_update"]
        from_ms = params["at_ms"] if number == _NEW else None
        found.append(version(number, pattern, from_ms=from_ms, **more))
    return found


def _parts(case: Mapping[str, Any], random: Random) -> list[Sequence[Mapping[str, Any]]]:
    """Return what happens, one after the other: batches of events, watermarks, restarts."""
    parts: list[list[Mapping[str, Any]]] = [[]]
    for event in case["events"]:
        is_cut = random.random() < 0.2
        if is_cut or "n" not in event or (parts[-1] and "n" not in parts[-1][-1]):
            parts.append([])
        parts[-1].append(event)
    return [part for part in parts if part]


def _in_order(case: Mapping[str, Any]) -> list[Any]:
    def place(event: Mapping[str, Any]) -> tuple[Any, ...]:
        values = [event.get(name) for name in case.get("order_by", ())]
        return (event["ts"], *((value is not None, value or 0) for value in values))

    return [each["n"] for each in sorted((e for e in case["events"] if "n" in e), key=place)]


def _key(case: Mapping[str, Any]) -> list[str] | None:
    keys = [set(each) for version in versions_of(case) for each in _partitions(version["params"])]
    return sorted(set.intersection(*keys)) or None


def _partitions(node: Any) -> list[Sequence[str]]:  # noqa: PLR0911 - one line per construct
    """Return the columns of each partition that windows of a rule are over."""
    match node:
        case {"agg": _, "frame": _, "partition_by": columns} | {"mode": _, "by": columns}:
            return [columns]
        case {"from": "rule"}:
            return [[]]
        case {"members": _, "key": columns} | {"size_ms": _, "group_by": columns}:
            return [columns]
        case {"per": columns, **rest}:
            return [columns, *_partitions(rest)]
        case Mapping():
            return [found for each in node.values() for found in _partitions(each)]
        case [*parts]:
            return [found for each in parts for found in _partitions(each)]
        case _:
            return []

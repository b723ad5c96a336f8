"""A timeline as JSON: kept in the checkpoint for the next start, and shipped to the workers.

Timeline ──write──► JSON (content-addressed file) ──read──► the same Timeline, in any process
"""

from dataclasses import asdict
from typing import Any

from pydantic_core import from_json

from contract.canonical import canonical_json
from contract.snapshot import StreamDefinition
from processor_runtime.schedule.interval import EndReason, Interval, LiveKeys
from processor_runtime.schedule.listed import ListInterval
from processor_runtime.schedule.snoozing import Snooze
from processor_runtime.schedule.timeline import Quarantine, Timeline


def write_timeline(timeline: Timeline, stream: StreamDefinition) -> bytes:
    """Return a timeline and the stream it is for as canonical JSON."""
    content = {
        "stream": stream.model_dump(by_alias=True),
        "intervals": [asdict(interval) for interval in timeline.intervals],
        "quarantined": [asdict(item) for item in timeline.quarantined],
        "paused": timeline.paused,
        "lists": [asdict(item) for item in timeline.lists],
        "snoozes": [asdict(snooze) for snooze in timeline.snoozes],
        "processed_ms": timeline.processed_ms,
    }
    return canonical_json(content).encode()


def read_timeline(data: bytes) -> tuple[Timeline, StreamDefinition]:
    """Return what `write_timeline` wrote."""
    content: dict[str, Any] = from_json(data)
    timeline = Timeline(
        intervals=tuple(_interval(item) for item in content["intervals"]),
        quarantined=tuple(Quarantine(**item) for item in content["quarantined"]),
        paused=tuple((processor_id, version) for processor_id, version in content["paused"]),
        lists=tuple(ListInterval(**item) for item in content["lists"]),
        snoozes=tuple(Snooze(**item) for item in content["snoozes"]),
        processed_ms=content["processed_ms"],
    )
    return timeline, StreamDefinition.model_validate(content["stream"])


def _interval(item: dict[str, Any]) -> Interval:
    reason = item["end_reason"]
    return Interval(
        **item
        | {
            "end_reason": None if reason is None else EndReason(reason),
            "live_keys": tuple(LiveKeys(**keys) for keys in item["live_keys"]),
        }
    )

"""A timeline as JSON: kept in the checkpoint for the next start, and shipped to the workers.

Timeline ──write──► JSON (content-addressed file) ──read──► the same Timeline, in any process
"""

from dataclasses import asdict
from typing import Any, Final

from pydantic_core import from_json

from contract.canonical import canonical_json
from contract.snapshot import StreamDefinition
from processor_runtime.schedule.interval import END_MS, EndReason, Interval, LiveKeys
from processor_runtime.schedule.listed import ListInterval
from processor_runtime.schedule.snoozing import Snooze
from processor_runtime.schedule.timeline import Quarantine, Timeline

FORMAT: Final = 1


class UnknownFormatError(ValueError):
    """A document was written by a newer version of Percept."""


def write_timeline(timeline: Timeline, stream: StreamDefinition) -> bytes:
    """Return a timeline and the stream it is for as canonical JSON."""
    content = {
        "format": FORMAT,
        "stream": stream.model_dump(by_alias=True),
        "intervals": [_written(interval) for interval in timeline.intervals],
        "quarantined": [_written_quarantine(item) for item in timeline.quarantined],
        "paused": timeline.paused,
        "processed_ms": timeline.processed_ms,
    }
    # Left out if there are none, as programs wrote it that knew of no such.
    if timeline.lists:
        content["lists"] = [asdict(item) for item in timeline.lists]
    if timeline.snoozes:
        content["snoozes"] = [asdict(snooze) for snooze in timeline.snoozes]
    return canonical_json(content).encode()


def read_timeline(data: bytes) -> tuple[Timeline, StreamDefinition]:
    """Return what `write_timeline` wrote.

    Raises:
        UnknownFormatError: it is of a newer format.
    """
    content: dict[str, Any] = from_json(data)
    if content["format"] != FORMAT:
        raise UnknownFormatError(
            f"the timeline in the checkpoint has format {content['format']}, this version of "
            f"Percept reads {FORMAT}; upgrade it"
        )
    timeline = Timeline(
        intervals=tuple(_interval(item) for item in content["intervals"]),
        quarantined=tuple(Quarantine(**item) for item in content["quarantined"]),
        paused=tuple((processor_id, version) for processor_id, version in content["paused"]),
        lists=tuple(ListInterval(**item) for item in content.get("lists", ())),
        snoozes=tuple(Snooze(**item) for item in content.get("snoozes", ())),
        processed_ms=content["processed_ms"],
    )
    return timeline, StreamDefinition.model_validate(content["stream"])


def _written(interval: Interval) -> dict[str, Any]:
    written = asdict(interval)
    if interval.drains_until_ms == END_MS:  # as programs wrote it that knew of no such end
        del written["drains_until_ms"]
    if not interval.live_keys:  # likewise
        del written["live_keys"]
    return written


def _written_quarantine(item: Quarantine) -> dict[str, Any]:
    written = asdict(item)
    if not item.by_hand:  # as programs wrote it that knew of none
        del written["by_hand"]
    return written


def _interval(item: dict[str, Any]) -> Interval:
    reason = item["end_reason"]
    return Interval(
        **item
        | {
            "end_reason": None if reason is None else EndReason(reason),
            "live_keys": tuple(LiveKeys(**keys) for keys in item.get("live_keys", ())),
        }
    )

"""What the checkpoint of a job says of its batches: which rules each ran with, and when they began.

checkpoint/epochs/<batch> ──► BatchRecord ──► checkpoint/rules/timeline-… ──► intervals
"""

from pathlib import Path

from processor_runtime.driver.batch_record import BatchRecord, read_record
from processor_runtime.driver.checked_files import unsealed
from processor_runtime.schedule.interval import Interval
from processor_runtime.schedule.timeline_document import read_timeline
from tests.processor_runtime.resilience.job_process import numbers


def record_contents(checkpoint: Path) -> dict[int, bytes]:
    directory = checkpoint / "epochs"
    return {number: (directory / str(number)).read_bytes() for number in numbers(directory)}


def newest_record(checkpoint: Path) -> BatchRecord | None:
    """Return the record of the newest batch; `None` if none has been pinned."""
    found = numbers(checkpoint / "epochs")
    return record(checkpoint, found[-1]) if found else None


def record(checkpoint: Path, batch_id: int) -> BatchRecord:
    return read_record(content(checkpoint, f"epochs/{batch_id}"))


def content(checkpoint: Path, name: str) -> bytes:
    """Return the content of a file of the checkpoint that Percept has written."""
    return unsealed(name, (checkpoint / name).read_bytes())


def intervals(checkpoint: Path) -> list[Interval]:
    """Return the intervals of all versions that have run, each as the newest batch had it.

    An interval that has ended is left out of later timelines, and stays as it was last told.
    """
    found: dict[str, Interval] = {}
    for number in numbers(checkpoint / "epochs"):
        name = record(checkpoint, number).timeline
        timeline, _ = read_timeline(content(checkpoint, name))
        found |= {interval.rule_id: interval for interval in timeline.intervals}
    return sorted(found.values(), key=lambda one: (one.processor_id, one.active_from_ms))

"""Takes a version out of a batch that was pinned with it, for this and every later try.

    failed batch, version to blame ──set_aside──► <checkpoint>/epochs/<batch>.<revision>

The amended record differs from the one before in one thing: that version is quarantined from the
beginning of the batch. So all shards and all tries see the same, and everything else is as pinned.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from processor_runtime.driver.batch_record import BatchRecord, BatchRecords, unfinished
from processor_runtime.driver.checked_files import Files
from processor_runtime.rules.loading import has_code
from processor_runtime.schedule.batch_clock import NO_WATERMARK_MS
from processor_runtime.schedule.interval import BEGINNING_MS
from processor_runtime.schedule.timeline import Quarantine, Timeline, VersionKey, without_versions
from processor_runtime.schedule.timeline_document import read_timeline, write_timeline

_SHOWN: Final = 50


class NothingToSkip(ValueError):
    """A processor cannot be taken out of a batch; says why, and what to do instead."""


def set_aside(
    records: BatchRecords,
    record: BatchRecord,
    versions: Iterable[VersionKey],
    reason: str,
    *,
    by_hand: bool = False,
) -> BatchRecord:
    """Quarantine versions in the record of a batch; return the record that counts from now on.

    `reason`: why, for people. `by_hand`: whether somebody wants it so.
    """
    timeline, stream = read_timeline(records.read_content(record.timeline))
    is_first = record.watermark_ms == NO_WATERMARK_MS
    since_ms = BEGINNING_MS if is_first else record.watermark_ms + 1
    out = [Quarantine(*each, reason, since_ms, by_hand=by_hand) for each in versions]
    amended = replace(
        without_versions(timeline, {item.of for item in out}),
        quarantined=tuple(sorted({*timeline.quarantined, *out}, key=lambda item: item.of)),
    )
    name = records.keep("timeline", write_timeline(amended, stream))
    revised = replace(record, timeline=name, revision=record.revision + 1)
    records.write(revised)
    return revised


def skip(files: Files, processor_id: str) -> BatchRecord:
    """Take all versions of a processor out of the batch that is to be run again, by hand.

    `files`: the checkpoint of a job that does not run.

    Raises:
        NothingToSkip: there is no such batch, or the processor is not in it.
    """
    records = BatchRecords(files)
    newest, record = records.newest(), unfinished(files)
    if newest is None:
        raise NothingToSkip("the checkpoint has no batch")
    if record is None:
        raise NothingToSkip(
            f"batch {newest.batch_id} is done, and no other has begun with its rules; pause or "
            "delete the rule where it is published, which counts from the next batch on"
        )
    timeline, _ = read_timeline(records.read_content(record.timeline))
    for item in timeline.quarantined:
        if item.processor_id == processor_id:
            raise NothingToSkip(
                f"{processor_id} is quarantined in batch {record.batch_id} already: {item.reason}"
            )
    found = {
        (item.processor_id, item.version, item.digest)
        for item in timeline.intervals
        if item.processor_id == processor_id
    }
    if not found:
        there = ", ".join(sorted({item.processor_id for item in timeline.intervals})[:_SHOWN])
        raise NothingToSkip(
            f"batch {record.batch_id} does not run {processor_id}; it runs {there or 'no rule'}"
        )
    return set_aside(records, record, sorted(found), "left out by hand", by_hand=True)


def versions_with_code(timeline: Timeline) -> tuple[VersionKey, ...]:
    """Return the versions that hold Python code, in order."""
    found = {
        (item.processor_id, item.version, item.digest)
        for item in timeline.intervals
        if has_code(item.definition)
    }
    return tuple(sorted(found))

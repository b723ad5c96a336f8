"""What is pinned for the micro-batches of a job, as it is kept in the checkpoint.

driver ──write──► <checkpoint>/epochs/<batch id> ──read──► replay, next start
       ──amend──► <checkpoint>/epochs/<batch id>.<revision>, which counts instead
       ──keep───► <checkpoint>/rules/<kind>-<hash>.json, which the records name

The newest record is also where the next start of a job goes on: the snapshot its discoverer begins
with, and the stream of a batch that is still to be finished.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Final

from pydantic_core import from_json, to_json

from contract.snapshot import Snapshot, StreamDefinition, read_snapshot
from processor_runtime.driver.checked_files import Files, required
from processor_runtime.schedule.batch_clock import BatchClock

RECORDS_KEPT: Final = 200
"""Spark can go back by a hundred batches; records reach further."""
_RECORD: Final = re.compile(r"(\d+)(?:\.(\d+))?")


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """The epoch and the time of one micro-batch, and where its rules are.

    `newest_ms` is the newest event time read before this batch, `None` before the first event.
    `timeline` and `snapshot` name files of the checkpoint. A batch that `closes` ends everything
    that is open when its events have been matched. `revision` is how often what was pinned has been
    amended. `lists` are the files with the contents of lists that the timeline names.
    `sources_ms` has of each of several sources that time waits for the newest event time before
    this batch, as `BatchClock` has it; those left out are idle.
    """

    batch_id: int
    epoch: int
    watermark_ms: int
    newest_ms: int | None
    processing_time_ms: int
    timeline: str
    snapshot: str
    closes: bool = False
    revision: int = 0
    lists: tuple[str, ...] = ()
    sources_ms: Mapping[str, int | None] = field(default_factory=dict)

    @property
    def clock(self) -> BatchClock:
        """The time of the batch, as far as the record tells."""
        return BatchClock(
            self.batch_id,
            self.epoch,
            self.watermark_ms,
            self.processing_time_ms,
            closes=self.closes,
            sources_ms=self.sources_ms,
        )


def write_record(record: BatchRecord) -> bytes:
    """Return a record as JSON."""
    return to_json(asdict(record))


def read_record(data: bytes) -> BatchRecord:
    """Return what `write_record` wrote."""
    content = from_json(data)
    return BatchRecord(**content | {"lists": tuple(content["lists"])})


@dataclass(frozen=True, slots=True)
class BatchRecords:
    """The records in a checkpoint, and the files they name."""

    files: Files

    def newest(self) -> BatchRecord | None:
        """Return the record of the newest batch; `None` if none has begun."""
        newest = max((batch_id for batch_id, _ in self._names()), default=None)
        return None if newest is None else self.of_batch(newest)

    def of_batch(self, batch_id: int) -> BatchRecord | None:
        """Return the record of a batch as it was last amended; `None` if it has not begun."""
        found, revision = None, 0
        while (data := self.files.read(_name(batch_id, revision))) is not None:
            found, revision = read_record(data), revision + 1
        return found

    def write(self, record: BatchRecord) -> None:
        """Write the record of a batch, or an amended one; what it names is there by now."""
        self.files.write(_name(record.batch_id, record.revision), write_record(record))

    def keep(self, kind: str, content: bytes) -> str:
        """Write a file that records will name, unless it is there; return its name."""
        name = content_name(kind, content)
        if self.files.read(name) is None:
            self.files.write(name, content)
        return name

    def read_content(self, name: str) -> bytes:
        """Return the content of a file that a record names.

        Raises:
            CheckpointDamaged: it is missing.
        """
        return required(self.files, name)

    def forget_before(self, batch_id: int) -> None:
        """Delete the records of older batches, and the files that no record names any more."""
        named = set()
        for number, revision in list(self._names()):
            name = _name(number, revision)
            if number < batch_id:
                self.files.delete(name)
            elif (data := self.files.read(name)) is not None:
                record = read_record(data)
                named |= {record.timeline, record.snapshot, *record.lists}
        for name in self.files.names("rules"):
            if f"rules/{name}" not in named:
                self.files.delete(f"rules/{name}")

    def _names(self) -> Iterator[tuple[int, int]]:
        """Yield the batches of all records with their revisions, in any order."""
        for name in self.files.names("epochs"):
            if found := _RECORD.fullmatch(name):
                yield int(found[1]), int(found[2] or 0)


def last_snapshot(files: Files) -> Snapshot | None:
    """Return what the newest batch of a checkpoint ran with; `None` if none has run."""
    record = BatchRecords(files).newest()
    return None if record is None else _snapshot(files, record)


def unfinished(files: Files) -> BatchRecord | None:
    """Return the record of the batch that is to be run again; `None` if there is none.

    It has begun and is not done, as far as Spark knows.
    """
    record = BatchRecords(files).newest()
    if record is None or str(record.batch_id) in files.names("commits"):
        return None
    return record


def unfinished_stream(files: Files) -> StreamDefinition | None:
    """Return the stream as the newest batch read it, if that batch is to be run again."""
    record = unfinished(files)
    if record is None:
        return None
    snapshot = _snapshot(files, record)
    return None if snapshot is None else snapshot.stream


def _snapshot(files: Files, record: BatchRecord) -> Snapshot | None:
    content = files.read(record.snapshot)
    return None if content is None else read_snapshot(content)


def content_name(kind: str, content: bytes) -> str:
    """Return the name that a file gets which records name."""
    return _named(kind, hashlib.sha256(content).hexdigest())


def list_file(digest: str) -> str:
    """Return the name of the file with the content of a list; `digest` is that of the content."""
    return _named("list", digest)


def _named(kind: str, digest: str) -> str:
    return f"rules/{kind}-{digest[:24]}.json"


def _name(batch_id: int, revision: int) -> str:
    return f"epochs/{batch_id}.{revision}" if revision else f"epochs/{batch_id}"

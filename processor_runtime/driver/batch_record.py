"""What is pinned for the micro-batches of a job, as it is kept in the checkpoint.

driver ──write──► <checkpoint>/epochs/<batch id> ──read──► replay, next start
       ──keep───► <checkpoint>/rules/<kind>-<hash>.json, which the records name

The newest record is also where the next start of a job goes on: the snapshot its discoverer begins
with, and the stream of a batch that is still to be finished.
"""

import hashlib
from dataclasses import asdict, dataclass
from typing import Protocol

from pydantic_core import from_json, to_json

from contract.snapshot import Snapshot, StreamDefinition, read_snapshot

_FORMAT = 1


class Files(Protocol):
    """The files of a checkpoint; see `spark.checkpoint_files.CheckpointFiles`."""

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, `None` if there is none."""

    def write(self, name: str, content: bytes) -> None:
        """Write a file whole."""

    def names(self, directory: str) -> list[str]:
        """Return the names of the files in a directory."""

    def delete(self, name: str) -> None:
        """Delete a file."""


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """The epoch and the time of one micro-batch, and where its rules are.

    `newest_ms` is the newest event time read before this batch, `None` before the first event.
    `timeline` and `snapshot` name files of the checkpoint. A batch that `closes` ends everything
    that is open when its events have been matched.
    """

    batch_id: int
    epoch: int
    watermark_ms: int
    newest_ms: int | None
    processing_time_ms: int
    timeline: str
    snapshot: str
    closes: bool = False


def write_record(record: BatchRecord) -> bytes:
    """Return a record as JSON."""
    written = asdict(record)
    if not record.closes:  # as programs wrote it that knew of no such batch
        del written["closes"]
    return to_json({"format": _FORMAT, **written})


def read_record(data: bytes) -> BatchRecord:
    """Return what `write_record` wrote.

    Raises:
        ValueError: it is of a newer format.
    """
    content = from_json(data)
    if (given := content.pop("format")) != _FORMAT:
        raise ValueError(
            f"a batch record of format {given}; this version of Percept reads {_FORMAT}"
        )
    return BatchRecord(**content)


@dataclass(frozen=True, slots=True)
class BatchRecords:
    """The records in a checkpoint, and the files they name.

    Args:
        files: the checkpoint.
    """

    files: Files

    def newest(self) -> BatchRecord | None:
        """Return the record of the newest batch; `None` if none has begun."""
        numbers = self._numbers()
        return self.of_batch(numbers[-1]) if numbers else None

    def of_batch(self, batch_id: int) -> BatchRecord | None:
        """Return the record of a batch; `None` if it has not begun."""
        data = self.files.read(_name(batch_id))
        return None if data is None else read_record(data)

    def write(self, record: BatchRecord) -> None:
        """Write the record of a batch; what it names is there by now."""
        self.files.write(_name(record.batch_id), write_record(record))

    def keep(self, kind: str, content: bytes) -> str:
        """Write a file that records will name, unless it is there; return its name."""
        name = f"rules/{kind}-{hashlib.sha256(content).hexdigest()[:24]}.json"
        if self.files.read(name) is None:
            self.files.write(name, content)
        return name

    def kept(self, name: str) -> bytes:
        """Return the content of a file that a record names.

        Raises:
            LookupError: it is gone.
        """
        data = self.files.read(name)
        if data is None:
            raise LookupError(f"the checkpoint has lost {name}; it cannot be used any more")
        return data

    def forget_before(self, batch_id: int) -> None:
        """Delete the records of older batches, and the files that no record names any more."""
        named = set()
        for number in self._numbers():
            if number < batch_id:
                self.files.delete(_name(number))
            elif (record := self.of_batch(number)) is not None:
                named |= {record.timeline, record.snapshot}
        for name in self.files.names("rules"):
            if f"rules/{name}" not in named:
                self.files.delete(f"rules/{name}")

    def _numbers(self) -> list[int]:
        return sorted(int(name) for name in self.files.names("epochs") if name.isdecimal())


def last_snapshot(files: Files) -> Snapshot | None:
    """Return what the newest batch of a checkpoint ran with; `None` if none has run."""
    record = BatchRecords(files).newest()
    return None if record is None else _snapshot(files, record)


def unfinished_stream(files: Files) -> StreamDefinition | None:
    """Return the stream as the newest batch read it, if that batch is to be run again.

    It has begun and is not done, as far as Spark knows. `None` if there is none.
    """
    record = BatchRecords(files).newest()
    if record is None or str(record.batch_id) in files.names("commits"):
        return None
    snapshot = _snapshot(files, record)
    return None if snapshot is None else snapshot.stream


def _snapshot(files: Files, record: BatchRecord) -> Snapshot | None:
    content = files.read(record.snapshot)
    return None if content is None else read_snapshot(content)


def _name(batch_id: int) -> str:
    return f"epochs/{batch_id}"

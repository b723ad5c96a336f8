"""What the newest batch of a checkpoint ran with: where the next start of a job goes on.

<checkpoint>/epochs, rules, commits ──► snapshot for the discoverer · stream of an unfinished batch
"""

from discoverers.snapshot import Snapshot, StreamDefinition, read_snapshot
from processor_runtime.batch_record import BatchRecord, BatchRecords, Files


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

"""What is pinned for one micro-batch, as it is kept in the checkpoint.

driver ──write_record──► <checkpoint>/epochs/<batch id> ──read_record──► replay, next start
"""

from dataclasses import asdict, dataclass

from pydantic_core import from_json, to_json

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """The epoch and the time of one micro-batch, and where its rules are.

    `newest_ms` is the newest event time read before this batch, `None` before the first event.
    `timeline` and `snapshot` name files of the checkpoint.
    """

    batch_id: int
    epoch: int
    watermark_ms: int
    newest_ms: int | None
    processing_time_ms: int
    timeline: str
    snapshot: str


def write_record(record: BatchRecord) -> bytes:
    """Return a record as JSON."""
    return to_json({"format": _FORMAT, **asdict(record)})


def read_record(data: bytes) -> BatchRecord:
    """Return what `write_record` wrote.

    Raises:
        ValueError: it is of a newer format.
    """
    content = from_json(data)
    if (given := content.pop("format")) != _FORMAT:
        raise ValueError(f"a batch record of format {given}; this program reads {_FORMAT}")
    return BatchRecord(**content)

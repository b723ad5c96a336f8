"""The times that apply to one micro-batch; the same for all its tasks and in every replay."""

from dataclasses import dataclass
from typing import Final

NO_WATERMARK_MS: Final = -(2**63)
"""Before the first event: everything is on time."""


@dataclass(frozen=True, slots=True)
class BatchClock:
    """The time of one micro-batch.

    Events up to `watermark_ms` that arrive in this batch are late; waiting ones up to it are
    matched. `processing_time_ms` is the wall clock at which the batch was planned. A batch that
    `closes` matches everything and then ends what is open, as if no event ever came after it.
    `calls_every_shard` is whether shards are called even if nothing comes for them.
    """

    batch_id: int
    epoch: int
    watermark_ms: int
    processing_time_ms: int
    closes: bool = False
    calls_every_shard: bool = False

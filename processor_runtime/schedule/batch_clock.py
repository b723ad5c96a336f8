"""The times that apply to one micro-batch; the same for all its tasks and in every replay."""

from dataclasses import dataclass, replace
from typing import Final

NO_WATERMARK_MS: Final = -(2**63)
"""Before the first event: everything is on time."""


@dataclass(frozen=True, slots=True)
class BatchClock:
    """The time of one micro-batch.

    Events up to `watermark_ms` that arrive in this batch are late. `processing_time_ms` is the wall
    clock at which the batch was planned. A batch that `closes` matches everything and then ends
    what is open, as if no event ever came after it. `calls_every_shard` is whether shards are
    called even if nothing comes for them. The watermark of the next batch will be
    `watermark_delay_ms` behind the newest event; `None` where only Spark knows. `newest_ms` is the
    newest event that the batch has read, once that is known.
    """

    batch_id: int
    epoch: int
    watermark_ms: int
    processing_time_ms: int
    closes: bool = False
    calls_every_shard: bool = False
    watermark_delay_ms: int | None = None
    newest_ms: int | None = None

    def having_read(self, newest_ms: int | None) -> "BatchClock":
        """Return the same once it is known which event is the newest of the batch, if any."""
        return replace(self, newest_ms=newest_ms)

    @property
    def goes_on_alone(self) -> bool:
        """Whether the watermark may pass what shards wait for without a batch that calls them.

        An event calls them all, but by processing time the watermark goes on without any; and who
        reads a frame by other means than a job may have several watermarks.
        """
        return not self.watermark_delay_ms

    @property
    def complete_ms(self) -> int:
        """Up to when all events are there, so that they are matched: the next watermark."""
        if self.newest_ms is None or self.watermark_delay_ms is None:
            return self.watermark_ms
        passed_ms = self.newest_ms - self.watermark_delay_ms
        # Spark's watermark begins with 0, and is none before.
        return max(self.watermark_ms, passed_ms) if passed_ms > 0 else self.watermark_ms

"""The times that apply to one micro-batch; the same for all its tasks and in every replay."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
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

    Of several sources the one that is furthest behind holds the watermark back. `sources_ms` has
    each that is not idle, by name, with its newest event before this batch, `None` if it has given
    none; it is empty if there is one source only.
    """

    batch_id: int
    epoch: int
    watermark_ms: int
    processing_time_ms: int
    closes: bool = False
    calls_every_shard: bool = False
    watermark_delay_ms: int | None = None
    newest_ms: int | None = None
    sources_ms: Mapping[str, int | None] = field(default_factory=dict)

    def having_read(
        self, newest_ms: int | None, by_source: Mapping[str, int] | None = None
    ) -> "BatchClock":
        """Return the same once it is known which events are the newest of the batch, if any.

        `newest_ms`: of all. `by_source`: of each of several sources that has given some.
        """
        sources_ms = dict(self.sources_ms)
        for name, time_ms in (by_source or {}).items():
            before_ms = sources_ms.get(name)
            sources_ms[name] = time_ms if before_ms is None else max(before_ms, time_ms)
        return replace(self, newest_ms=newest_ms, sources_ms=sources_ms)

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
        if not self.sources_ms:
            return self.watermark_after(self.newest_ms)
        times = [time_ms for time_ms in self.sources_ms.values() if time_ms is not None]
        # A source that has given nothing yet may give anything.
        return self.watermark_after(min(times) if len(times) == len(self.sources_ms) else None)

    def watermark_after(self, newest_ms: int | None) -> int:
        """Return the next watermark if an event of this time is what it waits for."""
        if newest_ms is None or self.watermark_delay_ms is None:
            return self.watermark_ms
        passed_ms = newest_ms - self.watermark_delay_ms
        # Spark's watermark begins with 0, and is none before.
        return max(self.watermark_ms, passed_ms) if passed_ms > 0 else self.watermark_ms

"""How far each of several sources has come: the least of them is the time of the job.

    events read, by source ──► <checkpoint>/source-times/<batch id> ──► the batch after it

Spark's watermark tells the newest event of all sources, not of each. So what a batch has come to is
kept in the checkpoint, as that is what the next batch begins with, after any restart.

Source: Flink, "How Operators Process Watermarks": the least of the inputs that are not idle.
"""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Final

from pydantic_core import from_json, to_json

from processor_runtime.driver.checked_files import Files
from processor_runtime.driver.kept_by_batch import KeptByBatch
from processor_runtime.schedule.batch_clock import NO_WATERMARK_MS, BatchClock

DIRECTORY: Final = "source-times"


@dataclass(frozen=True, slots=True)
class SourceTimes:
    """The newest event time of each source that has given some, and up to when all were matched."""

    newest_ms: Mapping[str, int] = field(default_factory=dict)
    complete_ms: int = NO_WATERMARK_MS

    def after(self, clock: BatchClock, by_source: Mapping[str, int]) -> "SourceTimes":
        """Return the times after a batch.

        `clock`: of the batch, once it has read. `by_source`: the newest event times it has read.
        """
        newest_ms = dict(self.newest_ms)
        for name, time_ms in by_source.items():
            newest_ms[name] = max(time_ms, newest_ms.get(name, time_ms))
        return SourceTimes(newest_ms, clock.complete_ms)

    def waited_for(self, sources: Collection[str], idle: Collection[str]) -> dict[str, int | None]:
        """Return the newest event time of each source that is not idle, `None` without any.

        If all are idle it is the newest of all that counts, as time waits for none of them.
        """
        if len(idle) < len(sources):
            return {name: self.newest_ms.get(name) for name in sources if name not in idle}
        newest = max(self.newest_ms, key=self.newest_ms.__getitem__, default=None)
        return {} if newest is None else {newest: self.newest_ms[newest]}


class KeptSourceTimes:
    """The times after each batch of a job with several sources; any other has no such files."""

    def __init__(self, files: Files) -> None:
        self._kept = KeptByBatch[SourceTimes](files, DIRECTORY, write_times, read_times)
        self._newest: tuple[int, SourceTimes] | None = None

    def before(self, batch_id: int) -> SourceTimes:
        """Return the times at which a batch begins."""
        if self._newest is not None and self._newest[0] == batch_id - 1:
            return self._newest[1]
        return self._kept.of(batch_id - 1) or SourceTimes()

    def keep(self, batch_id: int, times: SourceTimes) -> None:
        """Keep the times after a batch."""
        self._kept.keep(batch_id, times, is_asked=True)
        self._newest = (batch_id, times)


def write_times(times: SourceTimes) -> bytes:
    """Return times as JSON."""
    return to_json(asdict(times))


def read_times(data: bytes) -> SourceTimes:
    """Return what `write_times` wrote."""
    return SourceTimes(**from_json(data))

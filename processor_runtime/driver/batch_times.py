"""When a micro-batch began, and how long each part of it took.

MicroBatches ──part by part──► BatchTimes ──► duration in reports, spans
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BatchPart:
    """One part of a batch; times are nanoseconds since 1970."""

    name: str
    began_ns: int
    ended_ns: int


class BatchTimes:
    """The times of one batch; they never go back, whatever becomes of the wall clock meanwhile."""

    def __init__(self, batch_id: int) -> None:
        self.batch_id = batch_id
        self.parts: list[BatchPart] = []
        self._offset_ns = time.time_ns() - time.perf_counter_ns()
        self.began_ns = self.now_ns()

    def now_ns(self) -> int:
        """Return the time, nanoseconds since 1970."""
        return time.perf_counter_ns() + self._offset_ns

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Measure what is done inside, also if it fails."""
        began_ns = self.now_ns()
        try:
            yield
        finally:
            self.parts.append(BatchPart(name, began_ns, self.now_ns()))

    @property
    def duration_ms(self) -> int:
        """How long the batch has been running."""
        return round((self.now_ns() - self.began_ns) / 1_000_000)

"""Ticks as the first stage takes them: rows that are no events, but let time go on without one.

rows of a source of ticks ──TickEvents──► frames of ticks
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import polars as pl
import pyarrow as pa

from processor_runtime.sources.event_frames import EventFrames


@dataclass(frozen=True, slots=True)
class TickEvents:
    """Makes a tick of each row, whatever is in it."""

    frames: EventFrames

    def __call__(
        self, batches: Iterable[pa.RecordBatch], _now_ms: Callable[[], int]
    ) -> Iterator[pl.DataFrame]:
        """Yield ticks; see `EventReader`."""
        for batch in batches:
            yield self.frames.ticks(len(batch))

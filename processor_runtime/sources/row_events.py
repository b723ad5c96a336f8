"""Events in rows that Spark has read: with the columns of the stream, or in values.

    rows of columns ─┐
    rows (value, columns beside it, where it was) ──RowEvents──► frames of events

So are Delta tables, ORC and any other source of Spark read, Kafka with Spark's connector, lines of
text.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import polars as pl
import pyarrow as pa

from processor_runtime.output.events.unusable_events import PLACE
from processor_runtime.rows.valid_text import with_valid_text
from processor_runtime.sources.event_frames import EventFrames, malformed_text
from processor_runtime.sources.values import ValueReader

RAW: Final = "_raw"
"""Column with a value."""
BESIDE: Final = "_beside"
"""Column with those columns of the stream that are not in the value, as a struct."""


@dataclass(frozen=True, slots=True)
class RowEvents:
    """Takes events from rows.

    `values` reads those that are in a value; `None` if rows have the columns of the stream.
    `skips_null` is whether rows without a value are left out.
    """

    frames: EventFrames
    values: ValueReader | None = None
    skips_null: bool = False

    def __call__(
        self, batches: Iterable[pa.RecordBatch], now_ms: Callable[[], int]
    ) -> Iterator[pl.DataFrame]:
        """Yield events; see `EventReader`.

        `batches`: the columns of the stream, or `RAW` with `BESIDE` and `PLACE` where there are
        such.
        """
        for batch in batches:
            rows = pl.DataFrame(pl.from_arrow(with_valid_text(batch)))
            if self.skips_null and self.values is not None:
                rows = rows.filter(pl.col(RAW).is_not_null())
            if len(rows):
                yield self._events(rows, now_ms())

    def _events(self, rows: pl.DataFrame, now_ms: int) -> pl.DataFrame:
        if self.values is None:
            return self.frames.of(rows, now_ms)
        raw: list[bytes | None] = rows.get_column(RAW).to_list()
        decoded = self.values.read(raw)
        events = decoded.columns
        if BESIDE in rows.columns:
            events = pl.concat([events, rows.get_column(BESIDE).struct.unnest()], how="horizontal")
        places: list[Any] = [{}] * len(rows)
        if PLACE in rows.columns:
            events = events.with_columns(rows.get_column(PLACE))
            if decoded.malformed:
                places = rows.get_column(PLACE).to_list()
        malformed = {
            row: malformed_text(*why, places[row]) for row, why in decoded.malformed.items()
        }
        return self.frames.of(events, now_ms, malformed)

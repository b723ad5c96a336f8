"""Plain files read in the first stage: what Spark hands over of a file is its place alone.

    rows (path, length) ──FileEvents──► frames of events, as Spark would have read them

Where a file is not plain, the task fails with `NotPlain`, and the job has Spark read its files.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import polars as pl
import pyarrow as pa

from processor_runtime.output.events.unusable_events import (
    EARLIEST_MS,
    FUTURE,
    LATEST_MS,
    MALFORMED,
)
from processor_runtime.rows.event_block import TIME
from processor_runtime.rows.plain_form import LOCAL, TIMESTAMP, NotPlain, PlainForm
from processor_runtime.stages.key_stage import TICK


@dataclass(frozen=True, slots=True)
class FileEvents:
    """Reads the events of files.

    Args:
        form: how the files are written; the columns are those of the stream.
        time_column: the column with the event time, an instant or integer milliseconds.
        max_future_skew_ms: events further ahead of the clock are refused; `None` takes any.
    """

    form: PlainForm
    time_column: str
    max_future_skew_ms: int | None

    def __call__(
        self, batches: Iterable[pa.RecordBatch], now_ms: Callable[[], int]
    ) -> Iterator[pl.DataFrame]:
        """Yield events with the columns that `timed_events` gives them.

        `batches`: columns `path` and `length`, and `TICK` where there are ticks, whose paths are
        null.

        Raises:
            NotPlain: a file is to be read by Spark; says which, and why.
        """
        for batch in batches:
            for file in batch.to_pylist():
                if file["path"] is None:
                    yield self._tick()
                else:
                    for events in self._events(file["path"], file["length"]):
                        yield self._timed(events, now_ms())

    def _events(self, uri: str, length: int) -> Iterator[pl.DataFrame]:
        if not uri.startswith(LOCAL):
            raise NotPlain(f"{uri}: it is not on this machine")
        path = "/" + uri.removeprefix(LOCAL).lstrip("/")
        if "=" in path.rpartition("/")[0]:
            raise NotPlain(f"{uri}: its directory may give columns")
        try:
            with open(path, "rb") as file:  # noqa: PTH123 - the text of a path, unchanged
                yield from self.form.events(file, length)
        except (NotPlain, OSError) as error:
            raise NotPlain(f"{uri}: {error}") from None

    def _timed(self, events: pl.DataFrame, now_ms: int) -> pl.DataFrame:
        time_ms = pl.col(self.time_column)
        if self.form.columns[self.time_column] == TIMESTAMP:
            time_ms = time_ms.dt.timestamp("ms")
        latest_ms = LATEST_MS
        if self.max_future_skew_ms is not None:
            latest_ms = min(latest_ms, now_ms + self.max_future_skew_ms)
        is_usable = time_ms.is_between(EARLIEST_MS, latest_ms)
        return events.select(
            pl.when(is_usable).then(time_ms).alias(TIME),
            pl.all(),
            pl.lit(None, pl.String).alias(MALFORMED),
            pl.when(~is_usable).then(time_ms).alias(FUTURE),
        )

    def _tick(self) -> pl.DataFrame:
        nothing = pl.DataFrame(schema=dict(self.form.columns))
        return self._timed(nothing, 0).clear(1).with_columns(pl.lit(1).alias(TICK))

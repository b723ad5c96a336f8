"""Events as the first stage takes them: the columns of a stream, their time, what is malformed.

    columns of events ──EventFrames──► frame: time, columns, why a row is no event

Source: FLIP-200 has events come into the key-generating operator; here they are read there as well.
"""

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import polars as pl
import pyarrow as pa

from cep.expression.types import PolarsType
from processor_runtime.output.events.unusable_events import (
    EARLIEST_MS,
    FUTURE,
    LATEST_MS,
    MALFORMED,
    PLACE,
)
from processor_runtime.rows.event_block import TIME
from processor_runtime.rows.json_text import json_text
from processor_runtime.sources.computed_columns import ComputedColumns
from processor_runtime.stages.key_stage import TICK

EventReader = Callable[[Iterable[pa.RecordBatch], Callable[[], int]], Iterator[pl.DataFrame]]
"""From what Spark hands over, and the time at which the batch was planned in milliseconds, to
frames of events."""

_LONGEST_RAW: Final = 1_000_000
_IN_KAFKA: Final = pl.Struct({"topic": pl.String, "partition": pl.Int32, "offset": pl.Int64})


@dataclass(frozen=True, slots=True)
class EventFrames:
    """Gives events their time.

    Args:
        columns: of the stream, in their order.
        time_column: the column with the event time, an instant or integer milliseconds; `None` if
            events have the time at which they are read.
        max_future_skew_ms: events further ahead of the clock are refused; `None` takes any.
        has_places: whether it is known of each event where in Kafka it was.
        computed: those of the columns that are computed from what was read.
    """

    columns: Mapping[str, PolarsType]
    time_column: str | None
    max_future_skew_ms: int | None = None
    has_places: bool = False
    computed: ComputedColumns = field(default_factory=ComputedColumns)

    @classmethod
    def of_schema(cls, columns: pa.Schema, time_column: str | None, **keys: Any) -> "EventFrames":
        """Return the frames of a stream whose columns are given as Arrow has them."""
        empty = pl.DataFrame(pl.from_arrow(columns.empty_table()))
        return cls(dict(empty.schema), time_column, **keys)

    def of(
        self, events: pl.DataFrame, now_ms: int, malformed: Mapping[int, str] | None = None
    ) -> pl.DataFrame:
        """Return events with `TIME`, `MALFORMED` and `FUTURE`, as the first stage takes them.

        `events`: the columns of the stream in any order, or what they are computed from, and
        `PLACE` if there are places. `malformed`: by row, what is in `MALFORMED`.
        """
        given = events
        events, reasons = self.computed.added_to(events, self.columns)
        told = {row: self._impossible(given, row, why) for row, why in reasons.items()}
        malformed = told | dict(malformed or {})
        latest_ms = LATEST_MS
        if self.max_future_skew_ms is not None:
            latest_ms = min(latest_ms, now_ms + self.max_future_skew_ms)
        time_ms = self._time_ms(now_ms)
        is_usable = time_ms.is_between(EARLIEST_MS, latest_ms)
        why: pl.Series | pl.Expr = pl.lit(None, pl.String)
        if malformed:
            why = pl.Series(map(malformed.get, range(len(events))), dtype=pl.String)
            is_usable &= why.is_null()
        return events.select(
            pl.when(is_usable).then(time_ms).alias(TIME),
            *self.columns,
            why.alias(MALFORMED),
            pl.when(~time_ms.is_between(EARLIEST_MS, latest_ms)).then(time_ms).alias(FUTURE),
            *([pl.col(PLACE)] if self.has_places else []),
        )

    def _impossible(self, given: pl.DataFrame, row: int, why: str) -> str:
        """Return what is in `MALFORMED` of a row of which a column cannot be computed."""
        values = given.row(row, named=True)
        place = values.pop(PLACE, None) or {}
        read = {name: value for name, value in values.items() if value is not None}
        return malformed_text(why, json.dumps(read, default=str).encode(), place)

    def nothing(self, count: int) -> pl.DataFrame:
        """Return rows without values of the columns of the stream, and of what is read for them."""
        columns: dict[str, PolarsType] = dict(self.columns)
        columns |= {
            name: pl.Null() for name, _ in self.computed.read.columns if name not in columns
        }
        if self.has_places:
            columns[PLACE] = _IN_KAFKA
        return pl.DataFrame(schema=columns).clear(count)

    def ticks(self, count: int) -> pl.DataFrame:
        """Return as many rows that are no events, but ticks."""
        nothing = self.of(self.nothing(0), 0).clear(count)
        return nothing.with_columns(pl.lit(1).alias(TICK))

    def _time_ms(self, now_ms: int) -> pl.Expr:
        if self.time_column is None:
            return pl.lit(now_ms, pl.Int64)
        time = pl.col(self.time_column)
        if isinstance(self.columns[self.time_column], pl.Datetime):
            return time.dt.timestamp("ms")
        return time.cast(pl.Int64)


def in_kafka(topic: str, partition: int, offset: int) -> dict[str, Any]:
    """Return where a record is, as it is told of a row."""
    return {"topic": topic, "partition": partition, "offset": offset}


def malformed_text(reason: str, raw: bytes | None, place: Mapping[str, Any]) -> str:
    """Return what `MALFORMED` holds of a row that could not be read.

    A JSON object: {"reason": …, "raw": …} with the file, or the topic, partition and offset. Octets
    that are not UTF-8 are in `raw_base64`. The first million is kept.
    """
    beginning: dict[str, str] = {}
    if raw is not None:
        text = _text(raw)
        if text is None:
            beginning["raw_base64"] = base64.b64encode(raw[:_LONGEST_RAW]).decode()
        else:
            beginning["raw"] = text[:_LONGEST_RAW]
    return json_text({"reason": reason} | beginning | dict(place))


def _text(raw: bytes) -> str | None:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None

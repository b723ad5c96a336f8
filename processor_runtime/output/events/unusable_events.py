"""Events that no rule can see, as rows of output: unreadable, without a usable time, too late.

frame of events ──unusable──► which rows, and why ──unusable_rows──► OutputRow of kind `error`

No row is ever lost: what could be read of it, and why it cannot be used, is in the row.
"""

from collections.abc import Iterator
from typing import Any, Final

import polars as pl
from pydantic_core import from_json

from processor_runtime.rows.event_block import TIME
from processor_runtime.rows.json_text import json_text
from processor_runtime.rows.output_rows import OutputRow, error_json
from processor_runtime.rows.value_range import out_of_range, readable_rows

MALFORMED: Final = "_malformed"
"""Column that is null but for rows that could not be read: a JSON object with `reason`, `raw` and
where the row stood."""
PLACE: Final = "_place_in_kafka"
"""Column with where a row stood in Kafka, as a struct; only of sources that know it."""
FUTURE: Final = "_too_far_ahead_ms"
"""Column with the event time of a row that is too far in the future, null otherwise."""
EARLIEST_MS: Final = -62_135_596_800_000
LATEST_MS: Final = 253_402_300_799_999
"""The first and the last millisecond of the years that an event can have."""

_UNREAD: Final = "it could not be read as an event: "
_LONGEST_REASON: Final = 300
_YEARS: Final = "not within the years 1 to 9999"
_UNIT: Final = "A number that is read as a TIMESTAMP counts milliseconds since 1970"


def unusable(events: pl.DataFrame) -> pl.Series | None:
    """Return which events cannot be used; `None` if all can.

    `events`: column `TIME`, those of the stream, and `MALFORMED` where rows come from a source.
    """
    is_unusable = events.get_column(TIME).is_null()
    if MALFORMED in events.columns:
        is_unusable |= events.get_column(MALFORMED).is_not_null()
    outside = out_of_range(events)
    if outside is not None:
        is_unusable |= outside.select(pl.any_horizontal(pl.all())).to_series()
    return is_unusable if is_unusable.any() else None


def unusable_rows(events: pl.DataFrame, event_time_column: str) -> Iterator[OutputRow]:
    """Yield the rows of output of events that cannot be used.

    Args:
        events: columns as in `unusable`, and `FUTURE` where there is `MALFORMED`; perhaps `PLACE`.
        event_time_column: the column of the stream that has the event time.
    """
    outside = out_of_range(events)
    outside_rows = [()] * len(events) if outside is None else outside.rows()
    names = [] if outside is None else outside.columns
    for event, is_outside in zip(readable_rows(events), outside_rows, strict=True):
        blamed = [name for name, is_so in zip(names, is_outside, strict=False) if is_so]
        yield _row(event, blamed, event_time_column)


def why_unusable(events: pl.DataFrame, event_time_column: str) -> str:
    """Return why the first event cannot be used, cut if it is long; see `unusable_rows`."""
    row = next(unusable_rows(events.head(1), event_time_column))
    message: str = from_json(row.error or "{}").get("message", "")
    return message.removeprefix(_UNREAD)[:_LONGEST_REASON]


def late_rows(events: pl.DataFrame) -> Iterator[OutputRow]:
    """Yield the rows of events that came after the watermark had passed them.

    `events`: columns `TIME`, those of the stream, and perhaps `PLACE`.
    """
    for event in events.to_dicts():
        time_ms, place = event.pop(TIME), event.pop(PLACE, None)
        error = error_json("late", **place) if place else None
        yield OutputRow(
            "late", start_ms=time_ms, end_ms=time_ms, events=json_text(event), error=error
        )


def _row(event: dict[str, Any], outside: list[str], time_column: str) -> OutputRow:
    malformed, future_ms = event.pop(MALFORMED, None), event.pop(FUTURE, None)
    event.pop(TIME)
    if malformed is not None:
        return _malformed_row(malformed)
    if outside:
        columns = ", ".join(outside)
        return _error_row(event, "out-of-range", f"{columns}: {_YEARS}. {_UNIT}")
    if future_ms is None:
        return _error_row(event, "no-time", f"it has no {time_column}")
    if EARLIEST_MS <= future_ms <= LATEST_MS:
        message = f"{time_column} is further in the future than max_future_skew allows"
        return _error_row(event, "future", message)
    message = f"{time_column}: {_YEARS}. It counts milliseconds since 1970"
    return _error_row(event, "out-of-range", message)


def _malformed_row(told: str) -> OutputRow:
    # It is written as the source gave it, with every digit.
    reason = from_json(told).get("reason", "nobody knows why")
    message = f"{_UNREAD}{reason}"
    return OutputRow("error", events=told, error=error_json("malformed", message=message))


def _error_row(event: dict[str, Any], reason: str, message: str) -> OutputRow:
    place = event.pop(PLACE, None) or {}
    error = error_json(reason, message=message, **place)
    return OutputRow("error", events=json_text(event), error=error)

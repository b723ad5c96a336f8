"""Events of the past as one frame in the order of event time.

files (as `cep.events.table`) ──read_history──► frame with the columns of the stream ──► replay
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import polars as pl

from cep.events.table import EventTable, UnreadableEvents, read_events
from cep.expression import Kind, Schema
from cep.file_trouble import file_trouble
from cep.keyed.event_check import SECONDS
from contract.problem_text import first_line
from contract.snapshot import StreamDefinition
from processor_runtime.output.events.unusable_events import FUTURE, LATEST_MS, MALFORMED
from processor_runtime.rows.event_block import TIME


@dataclass(frozen=True, slots=True)
class PipedEvents:
    """Events of standard input, with what is asked of a file: a pipe can be read only once."""

    name: ClassVar[str] = "standard input"

    content: bytes

    def read_bytes(self) -> bytes:
        """Return the content."""
        return self.content

    def __str__(self) -> str:
        return self.name


EventFile = Path | PipedEvents


class TooManyEvents(Exception):
    """There are more events than a backtest may hold; says how many that is."""


def shown_columns(path: EventFile, time_column: str) -> Schema:
    """Return the columns that a file of events shows, with types as its values are.

    Raises:
        UnreadableEvents: it is none, or has no column of this name.
    """
    table = _table(path, None).with_times([time_column])
    if time_column not in dict(table.schema.columns):
        names = ", ".join(name for name, _ in table.schema.columns)
        raise UnreadableEvents(f"there is no column {time_column}; there are {names}")
    return table.schema


def read_history(
    paths: Sequence[EventFile],
    stream: StreamDefinition,
    from_ms: int | None = None,
    until_ms: int | None = None,
    *,
    most_events: int | None = None,
) -> pl.DataFrame:
    """Return the events of files by event time, then in the order they came in.

    `stream`: their columns, and which one is the event time. `from_ms`: only events from this event
    time on. `until_ms`: only events before this event time. `most_events`: how many there may be;
    `None` = any number.

    Returns:
        `TIME`, the columns of the stream, and what the stages ask of a source.

    Raises:
        UnreadableEvents: a file is none, or a value does not fit its column; says where.
        TooManyEvents: there are more.
    """
    schema = Schema.from_ddl(stream.ddl)
    time_ms = _time_ms(schema, stream.event_time_column).alias(TIME)
    frames: list[pl.DataFrame] = []
    count = 0
    for path in paths:
        events = _events(path, schema).with_columns(time_ms)
        _require_milliseconds(events, stream.event_time_column)
        if from_ms is not None:
            events = events.filter(pl.col(TIME) >= from_ms)
        if until_ms is not None:
            events = events.filter(pl.col(TIME) < until_ms)
        frames.append(events)
        count += len(events)
        if most_events is not None and count > most_events:
            raise TooManyEvents(f"there are more than {most_events:,} events: shorten the time")
    in_order = pl.concat(frames).sort(TIME, maintain_order=True, nulls_last=True)
    unusable = pl.lit(None, pl.String).alias(MALFORMED), pl.lit(None, pl.Int64).alias(FUTURE)
    return in_order.select(TIME, *schema.to_polars(), *unusable)


def are_seconds(history: pl.DataFrame) -> bool:
    """Return whether all times look like seconds that were read as milliseconds."""
    ends = (history[TIME].min(), history[TIME].max())
    # Only of an integer it is computed whether it is in a range; anything else is searched for.
    return all(isinstance(end, int) and end in SECONDS for end in ends)


def _events(path: EventFile, schema: Schema) -> pl.DataFrame:
    """Return the columns of a stream that a file has; others are NULL throughout."""
    wanted = schema.to_polars()
    if isinstance(path, Path) and path.suffix.lower() == ".parquet":
        try:
            scan = pl.scan_parquet(path)
            there = scan.collect_schema()
            if all(there.get(name, data_type) == data_type for name, data_type in wanted.items()):
                missing = [
                    pl.lit(None, data_type).alias(name)
                    for name, data_type in wanted.items()
                    if name not in there
                ]
                return scan.with_columns(missing).select(*wanted).collect()
        except (pl.exceptions.PolarsError, OSError) as error:
            raise UnreadableEvents(f"{path}: cannot be read: {first_line(error)}") from error
    return pl.DataFrame(_table(path, schema).rows, schema=wanted, orient="row")


def _require_milliseconds(events: pl.DataFrame, column: str) -> None:
    """Refuse times after the year 9999, which no rule is in effect at."""
    latest = events.select(pl.col(TIME).max()).item()
    if latest is not None and latest > LATEST_MS:
        raise UnreadableEvents(
            f"{column} has {latest}, which is after the year 9999; it takes milliseconds since 1970"
        )


def _table(path: EventFile, schema: Schema | None) -> EventTable:
    try:
        return read_events(path.read_bytes(), path.name, schema)
    except OSError as error:
        raise UnreadableEvents(f"cannot read {path}: {file_trouble(error)}") from error
    except UnreadableEvents as error:
        raise UnreadableEvents(f"{path}: {error}") from error


def _time_ms(schema: Schema, column: str) -> pl.Expr:
    data_type = dict(schema.columns)[column]
    if data_type.kind is Kind.BIGINT:
        return pl.col(column)
    return pl.col(column).dt.epoch("ms")

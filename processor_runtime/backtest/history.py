"""Events of the past as one frame in the order of event time.

files (JSON Lines, CSV, Parquet) ──read_history──► frame with the columns of the stream ──► replay
"""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from cep.events.table import EventTable, UnreadableEvents, read_events
from cep.expression import Kind, Schema
from contract.snapshot import StreamDefinition
from processor_runtime.rows.event_block import TIME
from processor_runtime.stages.unusable_events import FUTURE, MALFORMED


def shown_columns(path: Path, time_column: str) -> Schema:
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
    paths: Sequence[Path],
    stream: StreamDefinition,
    from_ms: int | None = None,
    until_ms: int | None = None,
) -> pl.DataFrame:
    """Return the events of files by event time, then in the order they came in.

    Args:
        paths: the files.
        stream: their columns, and which one is the event time.
        from_ms: only events from this event time on.
        until_ms: only events before this event time.

    Returns:
        `TIME`, the columns of the stream, and what the stages ask of a source.

    Raises:
        UnreadableEvents: a file is none, or a value does not fit its column; says where.
    """
    schema = Schema.from_ddl(stream.ddl)
    wanted = schema.to_polars()
    frames = [
        pl.DataFrame(_table(path, schema).rows, schema=wanted, orient="row") for path in paths
    ]
    events = pl.concat(frames).with_columns(
        _time_ms(schema, stream.event_time_column).alias(TIME),
        pl.lit(None, pl.String).alias(MALFORMED),
        pl.lit(None, pl.Int64).alias(FUTURE),
    )
    if from_ms is not None:
        events = events.filter(pl.col(TIME) >= from_ms)
    if until_ms is not None:
        events = events.filter(pl.col(TIME) < until_ms)
    in_order = events.sort(TIME, maintain_order=True, nulls_last=True)
    return in_order.select(TIME, *wanted, MALFORMED, FUTURE)


def _table(path: Path, schema: Schema | None) -> EventTable:
    try:
        return read_events(path.read_bytes(), path.name, schema)
    except OSError as error:
        raise UnreadableEvents(f"cannot read {path}: {error.strerror}") from error
    except UnreadableEvents as error:
        raise UnreadableEvents(f"{path}: {error}") from error


def _time_ms(schema: Schema, column: str) -> pl.Expr:
    data_type = dict(schema.columns)[column]
    if data_type.kind is Kind.BIGINT:
        return pl.col(column)
    return pl.col(column).dt.epoch("ms")

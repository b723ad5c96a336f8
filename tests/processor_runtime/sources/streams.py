"""Definitions of streams, and the events that the first stage reads of a source."""

import json
from collections.abc import Mapping
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T  # noqa: N812 - as all of Spark's documentation has it

from contract.snapshot import StreamDefinition
from processor_runtime.job_file.source import Source
from processor_runtime.sources.event_frames import EventReader
from processor_runtime.spark.sources import EventsWanted, SourceEvents, read_source

NOW_MS: Final = 1_800_000_000_000
Event = dict[str, Any]


def stream(ddl: str, event_time: str = "ts") -> StreamDefinition:
    """Return the definition of a stream with these columns."""
    return StreamDefinition(
        name="logins",
        version=1,
        schema=ddl,
        event_time_column=event_time,
        allowed_delay_ms=0,
        order_by=[],
    )


def opened(
    spark: SparkSession, source: Source, definition: StreamDefinition, files: Any = None
) -> SourceEvents:
    """Return the events of a source by their time."""
    wanted = EventsWanted(definition.event_time_column)
    return read_source(spark, source, definition, wanted, files)


def events_of(rows: DataFrame, read: EventReader) -> list[Event]:
    """Return the events that the first stage reads from rows, in this process."""
    batches = rows.toArrow().to_batches()
    return [event for frame in read(batches, lambda: NOW_MS) for event in frame.to_dicts()]


def struct(**types: T.DataType) -> T.StructType:
    """Return columns, or fields, of these types."""
    return T.StructType([T.StructField(name, each) for name, each in types.items()])


def malformed(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is written of a malformed row."""
    content: dict[str, Any] = json.loads(event["_malformed"])
    return content

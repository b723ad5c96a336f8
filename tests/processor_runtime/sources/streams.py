"""Definitions of streams, and what is told of malformed rows."""

import json
from collections.abc import Iterable
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import types as T  # noqa: N812 - as all of Spark's documentation has it

from contract.snapshot import StreamDefinition
from processor_runtime.job_file.source import Source
from processor_runtime.spark.sources import events_of


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


def json_events(
    spark: SparkSession, lines: Iterable[str], definition: StreamDefinition, **keys: Any
) -> DataFrame:
    """Return what a job makes of lines of JSON that some source has as values."""
    source = Source.model_validate({"format": "rate", "value_format": "json"} | keys)
    frame = spark.createDataFrame([(line,) for line in lines], "value STRING")
    return events_of(frame, source, definition)


def struct(**types: T.DataType) -> T.StructType:
    """Return columns, or fields, of these types."""
    return T.StructType([T.StructField(name, each) for name, each in types.items()])


def malformed(row: Row) -> dict[str, Any]:
    """Return what is told of a malformed row."""
    told: dict[str, Any] = json.loads(row["_malformed"])
    return told


def types(frame: DataFrame) -> list[tuple[str, str]]:
    return [(each.name, each.dataType.simpleString()) for each in frame.schema]

"""Definitions of streams, and what is told of malformed rows."""

import json
from typing import Any

from pyspark.sql import DataFrame, Row

from contract.snapshot import StreamDefinition


def stream(ddl: str, event_time: str = "ts") -> StreamDefinition:
    """Return the definition of a stream with these columns."""
    return StreamDefinition.model_validate(
        {
            "name": "logins",
            "version": 1,
            "schema": ddl,
            "event_time_column": event_time,
            "allowed_delay_ms": 0,
            "order_by": [],
        }
    )


def malformed(row: Row) -> dict[str, Any]:
    """Return what is told of a malformed row."""
    told: dict[str, Any] = json.loads(row["_malformed"])
    return told


def types(frame: DataFrame) -> list[tuple[str, str]]:
    """Return the columns of a frame with their types."""
    return [(each.name, each.dataType.simpleString()) for each in frame.schema]

"""Events from any streaming source of Spark, as rows of the stream's columns.

    files (JSON, CSV, Parquet), ranges of Kafka ──► frame of places ──┐
    reader of another format ──► rows as the source has them ─────────┴──► `sources`: events

    files of a batch ──► arriving_files ──► rows about files, or the end of the job

`read_source` returns a frame, and what makes events of its rows in the first stage, without Spark.
"""

from processor_runtime.spark.sources.errors import SourceError, unread_file
from processor_runtime.spark.sources.events import (
    EventsWanted,
    SourceEvents,
    read_source,
    rows_of,
    stream_frames,
)

__all__ = [
    "EventsWanted",
    "SourceError",
    "SourceEvents",
    "read_source",
    "rows_of",
    "stream_frames",
    "unread_file",
]

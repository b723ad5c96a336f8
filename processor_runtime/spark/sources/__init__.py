"""Events from any streaming source of Spark, as rows of the stream's columns.

    reader of the format ──► loading ──► rows as the source has them ──► typing, parsing ──► events

    files of a batch    ──► arriving_files ──► rows about files, or the end of the job

Every frame that `read_source` returns has exactly the stream's columns, and `_malformed`: NULL, or
the content of a row that could not be read, so that no row is lost.
"""

from processor_runtime.spark.sources.errors import (
    FilesNotPlain,
    SourceError,
    not_plain,
    unread_file,
)
from processor_runtime.spark.sources.events import SourceEvents, events_of, read_source

__all__ = [
    "FilesNotPlain",
    "SourceError",
    "SourceEvents",
    "events_of",
    "not_plain",
    "read_source",
    "unread_file",
]

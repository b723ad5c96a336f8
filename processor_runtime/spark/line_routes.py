"""Whether workers make lines of JSON of matches, and how these come to files.

outputs of the job file ──makes_lines──► `MatchSettings.writes_lines`
                        └─line_route──► files beside the batches · in hand · through Spark
"""

from collections.abc import Iterable
from typing import Final

from pyspark.sql import SparkSession

from processor_runtime.job_file.outputs import Output, are_plain_lines
from processor_runtime.rows.line_route import LineDirectory, LineRoute
from processor_runtime.spark.sinks import JobOutputs
from processor_runtime.spark.sinks.files.sink import FileSink

_MOST_BYTES_IN_HAND: Final = 8_000_000
"""Of lines of a batch; of more Spark's tasks write files faster than this process."""


def makes_lines(spark: SparkSession, outputs: Iterable[Output]) -> bool:
    """Return whether rows are only written as lines, of which a file may have any number."""
    most = spark.conf.get("spark.sql.files.maxRecordsPerFile", "0")
    return most == "0" and are_plain_lines(outputs)


def line_route(spark: SparkSession, outputs: JobOutputs, shards: int) -> LineRoute:
    """Return what becomes of lines, where workers make them, before Spark is given any.

    Options of Spark's writer leave all of them to Spark.
    """
    files = [each.sink for each in outputs.outputs if isinstance(each.sink, FileSink)]
    if not all(sink.writes_plain_lines for sink in files):
        return LineRoute()
    return LineRoute(_MOST_BYTES_IN_HAND // shards, _directory(spark, outputs))


def _directory(spark: SparkSession, outputs: JobOutputs) -> LineDirectory | None:
    """Return where workers can write lines: these can be moved to one output, and only here."""
    if not str(spark.sparkContext.master).startswith("local"):
        return None
    sinks = [each.sink for each in outputs.outputs if "match" in each.row_kinds]
    if len(sinks) != 1 or not isinstance(sinks[0], FileSink):
        return None
    return sinks[0].line_directory(spark)

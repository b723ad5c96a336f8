"""JSON Lines and Parquet files, exactly once: each batch is one directory, published atomically."""

import shutil
from pathlib import Path
from typing import Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from processor_runtime.job_file.outputs import JsonOutput, ParquetOutput
from processor_runtime.output.line_files import ROWS_PER_FILE
from processor_runtime.rows.line_route import NO_LINES, BatchLines, LineDirectory
from processor_runtime.secret_names import secret_options
from processor_runtime.spark.failure_text import without
from processor_runtime.spark.sinks.files.batch_directories import BatchDirectories
from processor_runtime.spark.sinks.files.directory import HadoopDirectory
from processor_runtime.spark.sinks.output_sink import SinkSurroundings
from processor_runtime.spark.sinks.row_columns import row_lines, with_times

_LINES: Final = "lines"
_TEXT_SUFFIX: Final = ".txt"
_JSON_SUFFIX: Final = ".json"


class LinesRemoved(RuntimeError):
    """Files with lines of a batch were removed before they were moved into it."""


class FileSink:
    """Writes batches as files below `path/batch=<id>`; none for an empty batch."""

    def __init__(self, output: JsonOutput | ParquetOutput, surroundings: SinkSurroundings) -> None:
        self._output = output
        self._owner = {
            "job": surroundings.job,
            "output": output.name,
            "checkpoint": surroundings.checkpoint_id,
        }
        self._batches: BatchDirectories | None = None
        self.secrets = secret_options(output.options)
        self.remedy = (
            f"Look at {without(output.path, ())}: whether the job may write there, and whether "
            "there is room. A new checkpoint needs a new path, or one that was emptied. The batch "
            "is written again, as a whole, when the job is started again."
        )

    def write(
        self, rows: DataFrame, batch_id: int, row_count: int, lines: BatchLines = NO_LINES
    ) -> None:
        """Publish a batch.

        `lines`: more rows; their files are moved.

        Raises:
            DirectoryTaken: the directory belongs to another job, output or checkpoint.
            LinesRemoved: files of lines are not there any more.
        """
        is_first = self._batches is None
        if self._batches is None:
            self._batches = BatchDirectories(self._directory(rows.sparkSession), self._owner)

        def write(uri: str) -> None:
            if row_count:
                self._write_files(rows.coalesce(-(-row_count // ROWS_PER_FILE)), uri)
            if lines:
                _put_lines(HadoopDirectory(rows.sparkSession, uri), lines)

        self._batches.publish(batch_id, write if row_count or lines else None)
        if is_first and (directory := self.line_directory(rows.sparkSession)) is not None:
            # Those of this batch have been moved; others are of a start that was cut off.
            shutil.rmtree(directory.path, ignore_errors=True)

    @property
    def writes_plain_lines(self) -> bool:
        """Whether files are nothing but lines of JSON, without a codec or another end of lines."""
        return self._output.type == "json" and not self._output.options

    def line_directory(self, spark: SparkSession) -> LineDirectory | None:
        """Return where workers on this machine may write lines, before their batch is published.

        `None` if the output is not on a disk of this machine.
        """
        try:
            directory = self._directory(spark).local_path
        except (PySparkException, Py4JJavaError):
            return None  # the writer of that file gets the same error
        if directory is None:
            return None
        return BatchDirectories.line_directory(directory, self._owner)

    def close(self) -> None:
        """Do nothing: no resources are held."""

    def _directory(self, spark: SparkSession) -> HadoopDirectory:
        return HadoopDirectory(spark, self._output.path)

    def _write_files(self, files: DataFrame, uri: str) -> None:
        match self._output.type:
            case "parquet":
                with_times(files).write.options(**self._output.options).parquet(uri)
            case "json":
                _write_json(files, uri, self._output.options)


def _write_json(files: DataFrame, uri: str, options: dict[str, str]) -> None:
    """Write rows as JSON text, so that JSON inside them is kept unchanged."""
    row_lines(files).write.options(**options).text(uri)
    directory = HadoopDirectory(files.sparkSession, uri)
    for name in directory.names():
        if _TEXT_SUFFIX in name:
            directory.rename(name, name.replace(_TEXT_SUFFIX, _JSON_SUFFIX))


def _put_lines(directory: HadoopDirectory, lines: BatchLines) -> None:
    if lines.in_hand:
        directory.write_new(
            f"{_LINES}{_JSON_SUFFIX}", b"".join(each + b"\n" for each in lines.in_hand)
        )
    if not lines.files:
        return
    target = directory.local_path
    if target is None:
        raise AssertionError("files are written for outputs of this machine only")
    target.mkdir(parents=True, exist_ok=True)
    for number, path in enumerate(sorted(lines.files)):
        try:
            Path(path).rename(target / f"{_LINES}-{number:05}{_JSON_SUFFIX}")
        except FileNotFoundError:
            raise LinesRemoved(
                f"{path} was removed while the job ran; leave its files alone"
            ) from None

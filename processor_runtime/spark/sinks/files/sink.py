"""JSON Lines and Parquet files, exactly once: each batch is one directory, published atomically."""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import DataFrame

from processor_runtime.job_file.outputs import JsonOutput, ParquetOutput
from processor_runtime.secret_names import secret_options
from processor_runtime.spark.sinks.files.batch_directories import BatchDirectories
from processor_runtime.spark.sinks.files.directory import HadoopDirectory
from processor_runtime.spark.sinks.output_sink import SinkSurroundings
from processor_runtime.spark.sinks.row_columns import row_lines, with_times

ROWS_PER_FILE: Final = 100_000

_LINES: Final = "lines.json"
_TEXT_SUFFIX: Final = ".txt"
_JSON_SUFFIX: Final = ".json"


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
            "Look at whether the job may write there and whether there is room. A new checkpoint "
            "needs a new path, or one that was emptied. The batch is written again, as a whole, "
            "when the job is started again."
        )

    def write(
        self, rows: DataFrame, batch_id: int, row_count: int, lines: Sequence[bytes] = ()
    ) -> None:
        """Publish a batch.

        Args:
            rows: what is to be written.
            batch_id: its number.
            row_count: how many rows there are.
            lines: more rows, as lines of JSON; each text is some of them, without the end of the
                last.

        Raises:
            DirectoryTaken: the directory belongs to another job, output or checkpoint.
        """
        if self._batches is None:
            directory = HadoopDirectory(rows.sparkSession, self._output.path)
            self._batches = BatchDirectories(directory, self._owner)
        if row_count == 0 and not lines:
            self._batches.publish(batch_id, None)
            return

        def write(uri: str) -> None:
            if row_count:
                self._write_files(rows.coalesce(-(-row_count // ROWS_PER_FILE)), uri)
            if lines:
                directory = HadoopDirectory(rows.sparkSession, uri)
                directory.write_new(_LINES, b"".join(each + b"\n" for each in lines))

        self._batches.publish(batch_id, write)

    def close(self) -> None:
        """Do nothing: no resources are held."""

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

"""`outputs:` of a job file → sinks, and the rows of a batch to those that want them.

    create_sinks ──► JobOutputs.write(rows, batch id, rows of each kind) ──► sink after sink

They are written one after the other, in the order of the job file; the first that fails ends the
batch, which is then written again to all of them.
"""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Self, assert_never

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - how PySpark's functions are named everywhere

from contract.reports import OutputReport
from processor_runtime.job_file.outputs import (
    ConsoleOutput,
    DeltaOutput,
    JdbcOutput,
    JsonOutput,
    KafkaOutput,
    Output,
    ParquetOutput,
    ServiceOutput,
    WebhookOutput,
    takes_lines,
)
from processor_runtime.output.row_columns import LINES
from processor_runtime.reporting import MatchPoster
from processor_runtime.rows.line_route import NO_LINES, BatchLines
from processor_runtime.rows.output_rows import SCHEMA, RowKind
from processor_runtime.spark.failure_text import failure_text, without
from processor_runtime.spark.sinks.console import ConsoleSink
from processor_runtime.spark.sinks.files.delta import DeltaSink
from processor_runtime.spark.sinks.files.sink import FileSink
from processor_runtime.spark.sinks.jdbc.sink import JdbcSink
from processor_runtime.spark.sinks.kafka import KafkaSink, SparkKafkaSink
from processor_runtime.spark.sinks.output_sink import (
    OutputFailed,
    OutputSink,
    RowsLost,
    SinkSurroundings,
)
from processor_runtime.spark.sinks.service import ServiceSink
from processor_runtime.spark.sinks.webhook.sink import WebhookSink

ROW_COLUMNS: Final = tuple(SCHEMA.names())
_log = logging.getLogger("percept.outputs")


@dataclass(frozen=True)
class JobOutput:
    """One output: which rows it takes, and the sink that writes them.

    `takes_lines` is whether that writes rows that are lines already as they are.
    """

    name: str
    row_kinds: frozenset[RowKind]
    side_tags: frozenset[str]
    sink: OutputSink
    takes_lines: bool = False

    @cached_property
    def selection(self) -> Column:
        """The condition on rows, the same in all batches: each part of it is a call of Java."""
        wanted = F.col("kind").isin(*sorted(self.row_kinds))
        if self.side_tags:
            wanted |= (F.col("kind") == "side") & F.col("tag").isin(*sorted(self.side_tags))
        return wanted

    def _wanted(self, rows: DataFrame) -> DataFrame:
        columns = rows.columns
        lines = (LINES,) if self.takes_lines and LINES in columns else ()
        selected = rows.where(self.selection)
        return (
            selected if columns == [*ROW_COLUMNS, *lines] else selected.select(*ROW_COLUMNS, *lines)
        )

    def write(
        self,
        rows: DataFrame,
        batch_id: int,
        row_counts: Mapping[str, int],
        lines: BatchLines = NO_LINES,
    ) -> int:
        """Write what of a batch this output wants, as `JobOutputs` says; return how many rows.

        Raises:
            RowsLost: some of them are given up.
            OutputFailed: it could not be written.
        """
        try:
            row_count = sum(row_counts.get(kind, 0) for kind in self.row_kinds)
            own = lines if self.takes_lines and "match" in self.row_kinds else NO_LINES
            row_count -= len(own)
            if isinstance(self.sink, FileSink) and not row_count and not self.side_tags:
                # To say which rows are wanted takes Spark some time, and there are none.
                self.sink.write(rows, batch_id, 0, own)
                return len(own)
            wanted = self._wanted(rows)
            if self.side_tags and row_counts.get("side", 0):
                # How many there are of each tag is not known; the rows are persisted.
                row_count = wanted.count()
            if isinstance(self.sink, FileSink | KafkaSink):
                self.sink.write(wanted, batch_id, row_count, own)
            else:
                self.sink.write(wanted, batch_id, row_count)
        except RowsLost:
            raise
        except Exception as error:  # noqa: BLE001 - raised again, named
            text = failure_text(error, self.sink.secrets)
            failed = OutputFailed(self.name, text, self.sink.remedy)
            # What has a secret in its text must not appear as the cause in a traceback.
            is_clean = without(str(error), self.sink.secrets) == str(error)
            raise failed from (error if is_clean else None)
        return row_count + len(own)


class JobOutputs:
    """All outputs of a job; a context manager that lets go of their connections and threads."""

    def __init__(self, outputs: Sequence[JobOutput]) -> None:
        self.outputs = tuple(outputs)
        self._lost_rows: Counter[str] = Counter()
        self._failing: dict[str, OutputReport] = {}

    @property
    def failing(self) -> tuple[OutputReport, ...]:
        """The outputs that could not take the newest rows for them; for any thread."""
        return tuple(self._failing.values())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def write(
        self,
        rows: DataFrame,
        batch_id: int,
        row_counts: Mapping[str, int],
        lines: BatchLines = NO_LINES,
    ) -> None:
        """Write a batch to every output that wants some of it.

        `rows`: all rows of the batch, evaluated and persisted; other columns and kinds than those
        of output rows are ignored. `row_counts`: how many rows there are of each kind, with those
        that are only lines; what is left out has none. `lines`: matches that are not among the
        rows. There are none unless all outputs take lines, and none in files unless one of them
        takes matches.

        Raises:
            OutputFailed: an output could not be written; those before it have been.
        """
        for output in self.outputs:
            try:
                if output.write(rows, batch_id, row_counts, lines):
                    self._failing = {
                        n: told for n, told in self._failing.items() if n != output.name
                    }
            except RowsLost as lost:
                _log.error("output '%s': %s", output.name, lost)
                self._lost_rows[output.name] += lost.count
                self._note(output.name, str(lost))
            except OutputFailed as failed:
                self._note(output.name, failed.reason)
                raise

    def _note(self, name: str, reason: str) -> None:
        told = OutputReport(name=name, error=reason, lost_rows=self._lost_rows[name])
        self._failing = self._failing | {name: told}

    def close(self) -> None:
        """Let go of connections and threads, in the reverse order."""
        for output in reversed(self.outputs):
            output.sink.close()


def create_sinks(outputs: Sequence[Output], surroundings: SinkSurroundings) -> JobOutputs:
    """Return the outputs of a job file, ready to be written to; nothing is connected to yet.

    Raises:
        OutputFailed: an output lacks something, such as an environment variable that it names.
    """
    created: list[JobOutput] = []
    try:
        for output in outputs:
            try:
                sink = _sink(output, surroundings)
            except (ValueError, OSError) as error:
                raise OutputFailed(output.name, str(error), "") from error
            kinds, tags = output.row_kinds, output.side_tags
            created.append(JobOutput(output.name, kinds, tags, sink, takes_lines(output)))
    except OutputFailed:
        JobOutputs(created).close()
        raise
    return JobOutputs(created)


def _sink(output: Output, surroundings: SinkSurroundings) -> OutputSink:
    sink: OutputSink
    match output:
        case ConsoleOutput():
            sink = ConsoleSink(output)
        case JsonOutput() | ParquetOutput():
            sink = FileSink(output, surroundings)
        case DeltaOutput():
            sink = DeltaSink(output, surroundings)
        case KafkaOutput():
            uses_spark = output.connector == "spark"
            sink = SparkKafkaSink(output) if uses_spark else KafkaSink(output)
        case JdbcOutput():
            sink = JdbcSink(output, surroundings)
        case WebhookOutput():
            sink = WebhookSink(output, surroundings)
        case ServiceOutput():
            sink = ServiceSink(_poster(output, surroundings))
        case _:
            assert_never(output)
    return sink


def _poster(output: ServiceOutput, surroundings: SinkSurroundings) -> MatchPoster:
    if surroundings.service is None:
        raise ValueError("there is no service to post matches to; add `service:` with its url")
    return MatchPoster(
        surroundings.service, surroundings.stream, surroundings.job, queue_rows=output.queue_rows
    )

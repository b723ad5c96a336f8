"""A source of a job file → a streaming frame of events: the stream's columns, and `_malformed`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T  # noqa: N812 - as all of Spark's documentation has it
from pyspark.version import __version__ as spark_version

from contract.snapshot import StreamDefinition
from processor_runtime.driver.checked_files import Files
from processor_runtime.job_file.source import FILE_FORMATS, TEXT_FORMATS, Source
from processor_runtime.rows.output_rows import OutputRow
from processor_runtime.rows.plain_form import PlainForm
from processor_runtime.spark.sources.arriving_files import ArrivingFiles
from processor_runtime.spark.sources.columns import stream_schema, typed_columns
from processor_runtime.spark.sources.errors import SourceError, condition, first_sentence
from processor_runtime.spark.sources.file_fit import reader_type
from processor_runtime.spark.sources.file_schemas import SELF_DESCRIBING
from processor_runtime.spark.sources.malformed import never_malformed
from processor_runtime.spark.sources.own_kafka import loss_check, own_kafka_rows
from processor_runtime.spark.sources.parsing import (
    VALUE,
    events_in_files,
    events_in_values,
    reader_options,
    reader_schema,
)
from processor_runtime.spark.sources.plain_files import plain_files, plain_form

# The log of a table of Delta is of another kind, and Delta itself checks what is written to it.
CHECKED_FORMATS: Final = FILE_FORMATS - {"delta"}
_REMEDIES: Final = {
    "DATA_SOURCE_NOT_FOUND": "Correct source.format, add its package under source.packages, or "
    "install the Python module pyspark_… that has it.",
    "KAFKA_DATA_SOURCE_NOT_ENABLED": "Add org.apache.spark:spark-sql-kafka-0-10_2.13:"
    f"{spark_version} under source.packages.",
    "PATH_NOT_FOUND": "Create the directory, or correct source.path.",
}


@dataclass(frozen=True, slots=True)
class SourceEvents:
    """The events of a source, and what is called with each batch before it reads them.

    `check` returns rows of output about what the batch reads, and raises `SourceError` if that
    cannot be read as it is meant. With a `form`, the frame has files, in which events are so.
    """

    frame: DataFrame
    check: Callable[[int], list[OutputRow]] = lambda _batch_id: []
    form: PlainForm | None = None


def read_source(
    spark: SparkSession,
    source: Source,
    stream: StreamDefinition,
    files: Files | None = None,
    *,
    time_of_files: str | None = None,
) -> SourceEvents:
    """Return the events of a source as a streaming frame, and what checks files that arrive.

    The columns of the frame are those of the stream, in the order and with the types of the DDL,
    of Kafka where the record is (`PLACE`), and `_malformed STRING`: NULL, or the content of a row
    that could not be read (`malformed`).

    `files`: the checkpoint of the query, if there is one. If it has read something before, files
    that do not fit are left to the check, which names them. `time_of_files`: the event time column,
    if the first stage may be given files and read them.

    Raises:
        SourceError: Spark cannot open the source, or its columns do not fit the stream's.
    """
    schema = stream_schema(stream)
    try:
        if source.uses_own_kafka:
            records = own_kafka_rows(spark, source, schema, files)
            events = events_of(records, source, stream)
            if files is None or source.options.get("failOnDataLoss", "").lower() != "false":
                return SourceEvents(events)
            return SourceEvents(events, loss_check(source, files))
        form = plain_form(source, schema, time_of_files) if time_of_files else None
        if form is not None and files is not None:
            # What a file lacks, or has of another type, is reported when Spark reads it.
            check = ArrivingFiles(spark, source, files, T.StructType()).check
            return SourceEvents(plain_files(spark, source), check, form)
        rows = _opened(spark, source, schema, continues=_has_begun(files))
        events = events_of(rows, source, stream)
        if files is None or source.format not in CHECKED_FORMATS:
            return SourceEvents(events)
        read = T.StructType([each for each in rows.schema if _is_read(each.name, source)])
        return SourceEvents(events, ArrivingFiles(spark, source, files, read).check)
    except (PySparkException, Py4JJavaError) as error:
        remedy = _REMEDIES.get(condition(error), "")
        raise SourceError(
            f"source ({source.format}): {first_sentence(error)} {remedy}".rstrip()
        ) from error


def _is_read(name: str, source: Source) -> bool:
    """Return whether a column of the source is read; all are, unless events are in a value."""
    return not source.parses_value or name == VALUE or name in source.columns.values()


def _has_begun(files: Files | None) -> bool:
    return files is not None and bool(files.names("offsets"))


def events_of(frame: DataFrame, source: Source, stream: StreamDefinition) -> DataFrame:
    """Return events from rows as the source has them, streaming or not, like `read_source`.

    Raises:
        SourceError: the columns do not fit the stream's.
    """
    schema = stream_schema(stream)
    if source.parses_value:
        return events_in_values(frame, source, schema)
    if source.format in TEXT_FORMATS:
        return events_in_files(frame, source, schema)
    columns = typed_columns(frame.schema, schema, source.columns)
    return frame.select(*columns, never_malformed())


def _opened(
    spark: SparkSession, source: Source, schema: T.StructType, *, continues: bool
) -> DataFrame:
    """Return the rows of the source unchanged."""
    reader = spark.readStream.format(source.format)
    if source.format in TEXT_FORMATS:
        reader = reader.options(**reader_options(source)).schema(reader_schema(source, schema))
    else:
        reader = reader.options(**source.reader_options)
    if source.format in SELF_DESCRIBING:
        reader = reader.schema(_inferred(spark, source, schema, continues=continues))
    return reader.load(source.path) if source.format in FILE_FORMATS else reader.load()


def _inferred(
    spark: SparkSession, source: Source, schema: T.StructType, *, continues: bool
) -> T.StructType:
    """Return the columns to read files with, after those of an existing file, if there is one."""
    wanted = T.StructType(
        [T.StructField(source.columns.get(each.name, each.name), each.dataType) for each in schema]
    )
    try:
        found = spark.read.format(source.format).options(**source.options).load(source.path).schema
    except (PySparkException, Py4JJavaError) as error:
        if not continues and condition(error) != "UNABLE_TO_INFER_SCHEMA":
            raise
        return wanted
    if source.parses_value:
        return found
    if not continues:
        typed_columns(found, schema, source.columns)
    types = {each.name.lower(): each.dataType for each in found}
    return T.StructType(
        [
            T.StructField(
                each.name, reader_type(types.get(each.name.lower(), each.dataType), each.dataType)
            )
            for each in wanted
        ]
    )

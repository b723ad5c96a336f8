"""A source of a job file → a streaming frame of events: the stream's columns, and `_malformed`."""

from typing import Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T  # noqa: N812 - as all of Spark's documentation has it
from pyspark.version import __version__ as spark_version

from contract.snapshot import StreamDefinition
from processor_runtime.job_file.source import FILE_FORMATS, TEXT_FORMATS, Source
from processor_runtime.spark.sources.columns import stream_schema, typed_columns
from processor_runtime.spark.sources.errors import SourceError, condition, first_sentence
from processor_runtime.spark.sources.malformed import never_malformed
from processor_runtime.spark.sources.parsing import (
    events_in_files,
    events_in_values,
    reader_options,
    reader_schema,
)

# Files of these formats contain their schema, but Spark does not read it for a stream.
_INFERRED_FORMATS: Final = frozenset({"parquet", "orc"})
_REMEDIES: Final = {
    "DATA_SOURCE_NOT_FOUND": "Correct source.format, or add its package under source.packages.",
    "KAFKA_DATA_SOURCE_NOT_ENABLED": "Add org.apache.spark:spark-sql-kafka-0-10_2.13:"
    f"{spark_version} under source.packages.",
    "PATH_NOT_FOUND": "Create the directory, or correct source.path.",
}


def read_source(spark: SparkSession, source: Source, stream: StreamDefinition) -> DataFrame:
    """Return the events of a source as a streaming frame.

    Its columns are those of the stream, in the order and with the types of the DDL, and `_malformed
    STRING`: NULL, or the content of a row that could not be read (`malformed`).

    Raises:
        SourceError: Spark cannot open the source, or its columns do not fit the stream's.
    """
    schema = stream_schema(stream)
    try:
        return events_of(_opened(spark, source, schema), source, stream)
    except (PySparkException, Py4JJavaError) as error:
        remedy = _REMEDIES.get(condition(error), "")
        raise SourceError(
            f"source ({source.format}): {first_sentence(error)} {remedy}".rstrip()
        ) from error


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


def _opened(spark: SparkSession, source: Source, schema: T.StructType) -> DataFrame:
    """Return the rows of the source unchanged."""
    reader = spark.readStream.format(source.format)
    if source.format in TEXT_FORMATS:
        reader = reader.options(**reader_options(source)).schema(reader_schema(source, schema))
    else:
        reader = reader.options(**source.reader_options)
    if source.format in _INFERRED_FORMATS:
        reader = reader.schema(_inferred(spark, source, schema))
    return reader.load(source.path) if source.format in FILE_FORMATS else reader.load()


def _inferred(spark: SparkSession, source: Source, schema: T.StructType) -> T.StructType:
    """Return the columns of the existing files; without files, those of the stream."""
    try:
        found = spark.read.format(source.format).options(**source.options).load(source.path)
    except PySparkException as error:
        if error.getCondition() != "UNABLE_TO_INFER_SCHEMA":
            raise
        return T.StructType(
            [
                T.StructField(source.columns.get(each.name, each.name), each.dataType)
                for each in schema
            ]
        )
    return found.schema

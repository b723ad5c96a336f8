"""A source of a job file → a streaming frame, and what the first stage reads from its rows."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, cast

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as all of Spark's documentation has it
from pyspark.sql import types as T  # noqa: N812 - as all of Spark's documentation has it
from pyspark.version import __version__ as spark_version

from cep.expression import Schema
from contract.snapshot import StreamDefinition
from processor_runtime.driver.checked_files import Files
from processor_runtime.job_file.computed import schema_read
from processor_runtime.job_file.source import FILE_FORMATS, Source
from processor_runtime.output.events.unusable_events import PLACE
from processor_runtime.rows.output_rows import OutputRow
from processor_runtime.sources.column_values import UnknownType
from processor_runtime.sources.computed_columns import ComputedColumns
from processor_runtime.sources.csv_lines import CsvLines
from processor_runtime.sources.directories import directory_texts
from processor_runtime.sources.event_frames import EventFrames, EventReader
from processor_runtime.sources.file_events import FileEvents
from processor_runtime.sources.json_lines import JsonLines
from processor_runtime.sources.json_values import JsonValues
from processor_runtime.sources.parquet_rows import ParquetRows
from processor_runtime.sources.row_events import BESIDE, RAW, RowEvents
from processor_runtime.sources.values import FileReader, ValueReader
from processor_runtime.spark.sources.arriving_files import ArrivingFiles, skips_corrupt
from processor_runtime.spark.sources.columns import (
    arrow_schema,
    column,
    quoted,
    stream_schema,
    typed_columns,
)
from processor_runtime.spark.sources.errors import SourceError, condition, first_sentence
from processor_runtime.spark.sources.file_fit import reader_type
from processor_runtime.spark.sources.file_schemas import SELF_DESCRIBING
from processor_runtime.spark.sources.listed_files import listed_files
from processor_runtime.spark.sources.own_kafka import loss_check, own_kafka

# The log of a table of Delta is of another kind, and Delta itself checks what is written to it.
CHECKED_FORMATS: Final = FILE_FORMATS - {"delta"}
_VALUE: Final = "value"
_PLACE_IN_KAFKA: Final = ("topic", "partition", "offset")
_KAFKA: Final = (
    "key BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, "
    "timestampType INT, headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
)
"""What a record of Kafka has beside its value."""
_REMEDIES: Final = {
    "DATA_SOURCE_NOT_FOUND": "Correct source.format, add its package under source.packages, or "
    "install the Python module pyspark_… that has it.",
    "KAFKA_DATA_SOURCE_NOT_ENABLED": "Add org.apache.spark:spark-sql-kafka-0-10_2.13:"
    f"{spark_version} under source.packages.",
    "PATH_NOT_FOUND": "Create the directory, or correct source.path.",
}


@dataclass(frozen=True, slots=True)
class SourceEvents:
    """The events of a source: a streaming frame, and what the first stage reads from its rows.

    `check` is called with each batch before it is read; it returns rows of output about what the
    batch reads, and raises `SourceError` if that cannot be read as it is meant.
    """

    frame: DataFrame
    read: EventReader
    check: Callable[[int], list[OutputRow]] = lambda _batch_id: []


@dataclass(frozen=True, slots=True)
class EventsWanted:
    """How events are to be read.

    Args:
        time_column: the event time column; `None` if events have the time at which they are read.
        max_future_skew_ms: events further ahead of the clock are refused; `None` takes any.
        has_places: whether somebody is told where in Kafka events were.
        source_column: the column that gets the name of the source.
    """

    time_column: str | None
    max_future_skew_ms: int | None = None
    has_places: bool = True
    source_column: str | None = None


def read_source(  # noqa: PLR0913 - the checkpoint, and which of its sources it is, by name
    spark: SparkSession,
    source: Source,
    stream: StreamDefinition,
    wanted: EventsWanted,
    files: Files | None = None,
    *,
    number: int = 0,
) -> SourceEvents:
    """Return the events of a source, and what checks files that arrive.

    `files`: the checkpoint of the query, if there is one. If it has read something before, files
    that do not fit are left to the check, which names them. `number`: of the source in the query.

    Raises:
        SourceError: Spark cannot open the source, or its columns do not fit the stream's.
    """
    schema = _schema_read(source, stream, wanted)
    frames = stream_frames(stream, wanted, source)
    try:
        if source.uses_own_kafka:
            return _own_kafka(spark, source, schema, frames, files, number)
        if source.is_read_without_spark:
            return _files(spark, source, schema, frames, files, number)
        rows = _opened(spark, source, schema, continues=bool(files and files.names("offsets")))
        frame, reader = rows_of(rows, source, schema, frames)
        if files is None or source.format not in CHECKED_FORMATS:
            return SourceEvents(frame, reader)
        columns = T.StructType([each for each in rows.schema if _is_read(each.name, source)])
        return SourceEvents(
            frame, reader, ArrivingFiles(spark, source, files, columns, number).check
        )
    except (PySparkException, Py4JJavaError) as error:
        remedy = _REMEDIES.get(condition(error), "")
        raise SourceError(
            f"source ({source.format}): {first_sentence(error)} {remedy}".rstrip()
        ) from error


def rows_of(
    frame: DataFrame, source: Source, schema: T.StructType, frames: EventFrames
) -> tuple[DataFrame, EventReader]:
    """Return rows as the source has them, streaming or not, for the first stage; and its reader.

    `schema`: what is read of them.

    Raises:
        SourceError: the columns do not fit the stream's.
    """
    if source.parses_value:
        return _values(frame, source, schema, frames)
    frames = replace(frames, has_places=False)
    return frame.select(*typed_columns(frame.schema, schema, source.columns)), RowEvents(frames)


def stream_frames(
    stream: StreamDefinition, wanted: EventsWanted, source: Source | None = None
) -> EventFrames:
    """Return what makes events of what is read of a source; `None`: of ticks."""
    computed = ComputedColumns()
    if source is not None and (texts := _computed(source, wanted)):
        read = schema_read(source, Schema.from_ddl(stream.ddl), wanted.source_column)
        computed = ComputedColumns(read, texts)
    return EventFrames.of_schema(
        arrow_schema(stream_schema(stream)),
        wanted.time_column,
        max_future_skew_ms=wanted.max_future_skew_ms,
        has_places=wanted.has_places,
        computed=computed,
    )


def _computed(source: Source, wanted: EventsWanted) -> tuple[tuple[str, str], ...]:
    """Return the columns that are not read, with their expressions."""
    named = {} if wanted.source_column is None else {wanted.source_column: f"'{source.name}'"}
    return tuple((source.values | named).items())


def _schema_read(source: Source, stream: StreamDefinition, wanted: EventsWanted) -> T.StructType:
    """Return what is read of a source: the columns that are not computed, and fields for others."""
    computed = dict(_computed(source, wanted))
    fields = ", ".join(f"{quoted(name)} {kind}" for name, kind in source.fields.items())
    given = stream.model_copy(update={"ddl": fields}) if fields else None
    own = [each for each in stream_schema(stream) if each.name not in computed]
    return T.StructType(own + (list(stream_schema(given)) if given else []))


def _own_kafka(  # noqa: PLR0913, PLR0917 - a source, and which of the checkpoint it is
    spark: SparkSession,
    source: Source,
    schema: T.StructType,
    frames: EventFrames,
    files: Files | None,
    number: int,
) -> SourceEvents:
    beside, inside = _parts(schema, source)
    found = cast("T.StructType", T.StructType.fromDDL(_KAFKA))
    typed_columns(found, beside, source.columns)  # they must fit

    def reader() -> EventReader:
        from processor_runtime.kafka.reading import ReadingRules  # noqa: PLC0415 - of the extra
        from processor_runtime.sources.kafka_events import KafkaEvents  # noqa: PLC0415

        types = arrow_schema(beside)
        return KafkaEvents(
            ReadingRules.of(source.reader_options),
            _value_reader(source, inside),
            {name: (source.columns[name], types.field(name).type) for name in beside.names},
            frames,
            skips_null=source.null_values == "skip",
        )

    frame, read = own_kafka(spark, source, files, reader, number)
    if files is None or source.options.get("failOnDataLoss", "").lower() != "false":
        return SourceEvents(frame, read)
    return SourceEvents(frame, read, loss_check(source, files, number))


def _files(  # noqa: PLR0913, PLR0917 - as above
    spark: SparkSession,
    source: Source,
    schema: T.StructType,
    frames: EventFrames,
    files: Files | None,
    number: int,
) -> SourceEvents:
    at_source = _at_source(source, schema)
    try:
        reader = _file_reader(source, arrow_schema(schema), tuple(at_source.names))
    except UnknownType as error:
        raise SourceError(f"source ({source.format}): {error}") from None
    if source.format == "parquet" and not (files and files.names("offsets")):
        _check_first_file(spark, source, schema)
    frames = replace(frames, has_places=False)
    read = FileEvents(reader, frames, skips_corrupt=skips_corrupt(spark, source))
    frame = listed_files(spark, source)
    if files is None:
        return SourceEvents(frame, read)
    columns = at_source if source.format == "parquet" else T.StructType()
    return SourceEvents(frame, read, ArrivingFiles(spark, source, files, columns, number).check)


def _file_reader(source: Source, columns: pa.Schema, names: tuple[str, ...]) -> FileReader:
    times = source.time_patterns
    match source.format:
        case "json":
            return JsonLines(JsonValues(columns, names, times))
        case "csv":
            return CsvLines(columns, names, source.separator, source.has_header, times)
        case _:
            return ParquetRows(columns, names)


def _check_first_file(spark: SparkSession, source: Source, schema: T.StructType) -> None:
    """See whether a file that is there has the columns of the stream.

    Raises:
        SourceError: it has not.
    """
    try:
        found = spark.read.format(source.format).options(**source.options).load(source.path)
    except (PySparkException, Py4JJavaError) as error:
        if condition(error) != "UNABLE_TO_INFER_SCHEMA":
            raise
        return
    given = {name for uri in found.inputFiles()[:1] for name in directory_texts(uri)}
    own = [each for each in schema if source.columns.get(each.name, each.name).lower() not in given]
    typed_columns(found.schema, T.StructType(own), source.columns)


def _at_source(source: Source, schema: T.StructType) -> T.StructType:
    """Return the columns of a stream under their names at the source."""
    return T.StructType(
        [T.StructField(source.columns.get(each.name, each.name), each.dataType) for each in schema]
    )


def _parts(schema: T.StructType, source: Source) -> tuple[T.StructType, T.StructType]:
    """Return the columns beside the value, and those in it.

    Raises:
        SourceError: none is in it.
    """
    beside = T.StructType([each for each in schema if each.name in source.columns])
    inside = T.StructType([each for each in schema if each.name not in source.columns])
    if not inside.names:
        raise SourceError("source.columns: every column is beside the value; none is left in it")
    return beside, inside


def _value_reader(source: Source, inside: T.StructType) -> ValueReader:
    columns = arrow_schema(inside)
    if not source.has_schemas:
        return JsonValues(columns, times=source.time_patterns)
    from processor_runtime.kafka.formats.decoding import ValueForm, check_form  # noqa: PLC0415 - of the extra
    from processor_runtime.sources.schema_values import SchemaValues  # noqa: PLC0415

    registry = tuple(sorted(source.schema_registry.items()))
    form = ValueForm(str(source.value_format), registry, source.written_schemas() or "")
    check_form(form)
    return SchemaValues(form, columns)


def _values(
    frame: DataFrame, source: Source, schema: T.StructType, frames: EventFrames
) -> tuple[DataFrame, EventReader]:
    """Return rows with values, what is beside them, and where they are, if somebody is told."""
    value_type = {each.name: each.dataType for each in frame.schema}.get(_VALUE)
    if not isinstance(value_type, T.StringType | T.BinaryType):
        raise SourceError(
            f"source.value_format: {source.format} gives no column '{_VALUE}' with text. It gives "
            f"{', '.join(frame.schema.names)}"
        )
    beside, inside = _parts(schema, source)
    own_columns = typed_columns(frame.schema, beside, source.columns)
    place = [name for name in _PLACE_IN_KAFKA if name in frame.schema.names]
    has_places = bool(place) and frames.has_places
    columns = [column(_VALUE).cast("binary").alias(RAW)]
    if own_columns:
        columns.append(F.struct(*own_columns).alias(BESIDE))
    if has_places:
        columns.append(F.struct(*map(column, place)).alias(PLACE))
    frames = replace(frames, has_places=has_places)
    read = RowEvents(frames, _value_reader(source, inside), skips_null=source.null_values == "skip")
    return frame.select(*columns), read


def _is_read(name: str, source: Source) -> bool:
    """Return whether a column of the source is read; all are, unless events are in a value."""
    return not source.parses_value or name == _VALUE or name in source.columns.values()


def _opened(
    spark: SparkSession, source: Source, schema: T.StructType, *, continues: bool
) -> DataFrame:
    """Return the rows of the source unchanged."""
    reader = spark.readStream.format(source.format)
    reader = reader.options(**source.reader_options)
    if source.format in SELF_DESCRIBING:
        reader = reader.schema(_inferred(spark, source, schema, continues=continues))
    return reader.load(source.path) if source.format in FILE_FORMATS else reader.load()


def _inferred(
    spark: SparkSession, source: Source, schema: T.StructType, *, continues: bool
) -> T.StructType:
    """Return the columns to read files with, after those of an existing file, if there is one."""
    wanted = _at_source(source, schema)
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

"""Text → columns of a stream: JSON in a column `value` (Kafka, lines of text), JSON and CSV files.

Values of Avro and Protobuf come with their JSON beside them, in a column `decoded`.

A value that does not fit its column's type makes its row malformed; the row is kept, with those
columns that do fit.
"""

from collections.abc import Callable, Mapping
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as all of Spark's documentation has it
from pyspark.sql import types as T  # noqa: N812 - as all of Spark's documentation has it

from processor_runtime.job_file.source import Source
from processor_runtime.output.events.unusable_events import PLACE
from processor_runtime.spark.sources.columns import column, quoted, typed_columns
from processor_runtime.spark.sources.errors import SourceError
from processor_runtime.spark.sources.malformed import malformed_column, misfit_reason
from processor_runtime.spark.sources.text_values import (
    is_misfit,
    text_schema,
    text_type,
    text_values,
    without_guesses,
)

RAW: Final = "_raw"
_PARSED: Final = "_parsed"
_OWN: Final = "_own"
_FILE: Final = "_file"
VALUE: Final = "value"
_DECODED: Final = "decoded"
_UNREADABLE: Final = "unreadable"
_PLACE_IN_KAFKA: Final = ("topic", "partition", "offset")
_TEXT_MAP: Final = "MAP<STRING, STRING>"


def events_in_values(frame: DataFrame, source: Source, schema: T.StructType) -> DataFrame:
    """Return events that are in the column `value`, with other columns of the source.

    With `PLACE`, if the source tells where its records are.

    Raises:
        SourceError: there is no such column, or a column of the source does not fit.
    """
    value_type = {each.name: each.dataType for each in frame.schema}.get(VALUE)
    if not isinstance(value_type, T.StringType | T.BinaryType):
        raise SourceError(
            f"source.value_format: {source.format} gives no column '{VALUE}' with text. It gives "
            f"{', '.join(frame.schema.names)}"
        )
    beside = T.StructType([each for each in schema if each.name in source.columns])
    inside = T.StructType([each for each in schema if each.name not in source.columns])
    if not inside.names:
        raise SourceError("source.columns: every column is beside the value; none is left in it")
    own_columns = typed_columns(frame.schema, beside, source.columns)
    place = [name for name in _PLACE_IN_KAFKA if name in frame.schema.names]
    is_decoded = source.has_schemas
    text = column(_DECODED) if is_decoded else column(VALUE).cast("string")
    columns = [
        F.from_json(
            text,
            _with_raw(text_schema(inside, source.value_options)),
            _keeping_malformed(source.value_options),
        ).alias(_PARSED),
        column(VALUE).alias(RAW),
        *(map(column, (_DECODED, _UNREADABLE)) if is_decoded else ()),
    ]
    if own_columns:
        columns.append(F.struct(*own_columns).alias(_OWN))
    if place:
        columns.append(F.struct(*map(column, place)).alias(PLACE))
    rows = frame.select(*columns)
    parsed = column(_PARSED)
    read_from = column(_DECODED) if is_decoded else column(RAW).cast("string")
    values = text_values(parsed, inside, source.value_options)
    reason = _json_reason(read_from, values)
    if is_decoded:
        reason = F.coalesce(column(_UNREADABLE), reason)
    malformed = malformed_column(
        condition=parsed.isNull()
        | parsed.getField(RAW).isNotNull()
        | is_misfit(parsed, inside, source.value_options),
        reason=F.when(column(RAW).isNull(), F.lit("the value is NULL")).otherwise(reason),
        raw=column(RAW),
        place={name: column(PLACE).getField(name) for name in place},
    )
    return rows.select(
        *(
            (
                column(_OWN).getField(each.name)
                if each.name in source.columns
                else values[each.name]
            ).alias(each.name)
            for each in schema
        ),
        *([column(PLACE)] if place else ()),
        malformed,
    )


def reader_schema(source: Source, schema: T.StructType) -> T.StructType:
    """Return the columns of JSON and CSV files under their names there, and the raw text."""
    named = [
        T.StructField(source.columns.get(each.name, each.name), each.dataType) for each in schema
    ]
    return _with_raw(text_schema(T.StructType(named), source.reader_options))


def reader_options(source: Source) -> dict[str, str]:
    """Return options that make Spark return malformed rows of JSON and CSV files, too."""
    options = _keeping_malformed(source.reader_options)
    if source.format == "csv":
        # Otherwise Spark takes columns by position, whatever the header says.
        options.setdefault("enforceSchema", "false")
    return options


def events_in_files(frame: DataFrame, source: Source, schema: T.StructType) -> DataFrame:
    """Return events of JSON and CSV files, read with `reader_schema` and `reader_options`."""
    names = {each.name: source.columns.get(each.name, each.name) for each in schema}
    at_source = T.StructType([T.StructField(names[each.name], each.dataType) for each in schema])
    options, is_csv = source.reader_options, source.format == "csv"
    read = _filled(at_source, options) if is_csv else column
    as_read = F.struct(*(read(name).alias(name) for name in at_source.names))
    # A name in a lambda would else mean the new column of that name, with its new type.
    rows = frame.select(
        as_read.alias(_PARSED), column(RAW), F.col("_metadata.file_path").alias(_FILE)
    )
    parsed = column(_PARSED)
    values = text_values(parsed, at_source, options)
    raw = F.coalesce(column(RAW), F.to_csv(parsed) if is_csv else F.to_json(parsed))
    malformed = malformed_column(
        condition=column(RAW).isNotNull() | is_misfit(parsed, at_source, options),
        reason=_csv_reason(raw, at_source, values, source.options)
        if is_csv
        else _json_reason(raw, values),
        raw=raw,
        place={"file": column(_FILE)},
    )
    return rows.select(
        *(values[at_source].alias(name) for name, at_source in names.items()), malformed
    )


def _filled(schema: T.StructType, options: Mapping[str, str]) -> Callable[[str], Column]:
    """Return what reads a column of CSV: NULL for nothing between quotes, as Spark has it."""
    own = {each.name for each in schema if text_type(each.dataType, options) != each.dataType}
    return lambda name: F.when(column(name) != "", column(name)) if name in own else column(name)


def _json_reason(raw: Column, values: Mapping[str, Column]) -> Column:
    """Return why JSON text does not fit a schema; `values` are what was read, by column."""

    def otherwise(written: Column) -> Column:
        inside = F.lit("a field inside a column does not fit the stream's schema")
        return F.when(written.isNotNull(), inside).otherwise(F.lit("not a JSON object"))

    pairs = {name: (_item(name), value) for name, value in values.items()}
    return misfit_reason(F.from_json(raw, _TEXT_MAP), pairs, otherwise)


def _csv_reason(
    raw: Column, schema: T.StructType, values: Mapping[str, Column], options: Mapping[str, str]
) -> Column:
    """Return why a line of CSV does not fit a schema."""
    texts = ", ".join(f"{quoted(name)} STRING" for name in schema.names)
    pairs = {
        each.name: (_item(each.name), values[each.name])
        for each in schema
        if not isinstance(each.dataType, T.StringType)
    }
    return misfit_reason(
        F.from_csv(raw, texts, dict(options)),
        pairs,
        lambda _: F.lit("it has not as many values as there are columns"),
    )


def _item(name: str) -> Callable[[Column], Column]:
    return lambda row: row.getItem(name)


def _keeping_malformed(options: Mapping[str, str]) -> dict[str, str]:
    kept = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": RAW}
    return without_guesses(options) | kept


def _with_raw(schema: T.StructType) -> T.StructType:
    return T.StructType([*schema.fields, T.StructField(RAW, T.StringType())])

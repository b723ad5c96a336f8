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
from processor_runtime.spark.sources.columns import column, quoted, typed_columns
from processor_runtime.spark.sources.errors import SourceError
from processor_runtime.spark.sources.malformed import malformed_column, misfit_reason

RAW: Final = "_raw"
_PARSED: Final = "_parsed"
_OWN: Final = "_own"
_PLACE: Final = "_place"
VALUE: Final = "value"
_DECODED: Final = "decoded"
_UNREADABLE: Final = "unreadable"
_PLACE_IN_KAFKA: Final = ("topic", "partition", "offset")
_TEXT_MAP: Final = "MAP<STRING, STRING>"


def events_in_values(frame: DataFrame, source: Source, schema: T.StructType) -> DataFrame:
    """Return events that are in the column `value`, with other columns of the source.

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
        F.from_json(text, _with_raw(inside), _keeping_malformed(source.value_options)).alias(
            _PARSED
        ),
        column(VALUE).alias(RAW),
        *(map(column, (_DECODED, _UNREADABLE)) if is_decoded else ()),
    ]
    if own_columns:
        columns.append(F.struct(*own_columns).alias(_OWN))
    if place:
        columns.append(F.struct(*map(column, place)).alias(_PLACE))
    rows = frame.select(*columns)
    parsed = column(_PARSED)
    read_from = column(_DECODED) if is_decoded else column(RAW).cast("string")
    reason = _json_reason(read_from, inside, parsed.getField)
    if is_decoded:
        reason = F.coalesce(column(_UNREADABLE), reason)
    malformed = malformed_column(
        condition=parsed.isNull() | parsed.getField(RAW).isNotNull(),
        reason=F.when(column(RAW).isNull(), F.lit("the value is NULL")).otherwise(reason),
        raw=column(RAW),
        place={name: column(_PLACE).getField(name) for name in place},
    )
    return rows.select(
        *(
            (column(_OWN) if each.name in source.columns else parsed)
            .getField(each.name)
            .alias(each.name)
            for each in schema
        ),
        malformed,
    )


def reader_schema(source: Source, schema: T.StructType) -> T.StructType:
    """Return the columns of JSON and CSV files under their names there, and the raw text."""
    named = [
        T.StructField(source.columns.get(each.name, each.name), each.dataType) for each in schema
    ]
    return _with_raw(T.StructType(named))


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
    raw = column(RAW)
    if source.format == "csv":
        reason = _csv_reason(raw, at_source, source.options)
    else:
        reason = _json_reason(raw, at_source, column)
    malformed = malformed_column(
        condition=raw.isNotNull(),
        reason=reason,
        raw=raw,
        place={"file": F.col("_metadata.file_path")},
    )
    return frame.select(
        *(column(at_source).alias(name) for name, at_source in names.items()), malformed
    )


def _json_reason(raw: Column, schema: T.StructType, read: Callable[[str], Column]) -> Column:
    """Return why JSON text does not fit a schema; `read` returns the value of a column."""

    def otherwise(written: Column) -> Column:
        inside = F.lit("a field inside a column does not fit the stream's schema")
        return F.when(written.isNotNull(), inside).otherwise(F.lit("not a JSON object"))

    values = {name: (_item(name), read(name)) for name in schema.names}
    return misfit_reason(F.from_json(raw, _TEXT_MAP), values, otherwise)


def _csv_reason(raw: Column, schema: T.StructType, options: Mapping[str, str]) -> Column:
    """Return why a line of CSV does not fit a schema."""
    texts = ", ".join(f"{quoted(name)} STRING" for name in schema.names)
    values = {
        each.name: (_item(each.name), column(each.name))
        for each in schema
        if not isinstance(each.dataType, T.StringType)
    }
    return misfit_reason(
        F.from_csv(raw, texts, dict(options)),
        values,
        lambda _: F.lit("it has not as many values as there are columns"),
    )


def _item(name: str) -> Callable[[Column], Column]:
    return lambda row: row.getItem(name)


def _keeping_malformed(options: Mapping[str, str]) -> dict[str, str]:
    return {**options, "mode": "PERMISSIVE", "columnNameOfCorruptRecord": RAW}


def _with_raw(schema: T.StructType) -> T.StructType:
    return T.StructType([*schema.fields, T.StructField(RAW, T.StringType())])

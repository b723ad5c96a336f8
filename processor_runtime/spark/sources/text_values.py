"""Values that Spark would guess from text: times are read here, decimals without its guesses.

    schema ──text_type──► what Spark reads ──text_value──► column of the stream's type, or NULL
                                           └─is_misfit──► the row is malformed
    options of a reader ──without_guesses──► the same, with a locale that has no comma in numbers

Spark takes `"1,5"` as the DECIMAL 15, `12:00` as noon of today, the DATE `20240102` as a day in the
year 57385, and a number in a TIMESTAMP column as seconds. Here a whole number is a time in
milliseconds since 1970, as in all events that Percept reads, and other times are ISO 8601; decimals
have a point and no commas. What is neither becomes an error row. Decimals stay with Spark, as text
of a number in JSON has no more than 17 digits of it.
"""

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as all of Spark's documentation has it
from pyspark.sql import types as T  # noqa: N812 - as all of Spark's documentation has it

_WHOLE: Final = r"^[+-]?[0-9]{1,18}$"
_TIME: Final = r"^\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{1,9})?)?)?\s*(Z|UTC|[+-]\d\d(:?\d\d)?)?$"
_OFFSET: Final = r"([ T].*[+-]\d\d):?(\d\d)$"
_PLAIN_LOCALE: Final = "en-CH"
"""Its decimal sign is a point, and thousands are not divided by a comma: `1,5` is no number."""
_Reader = Callable[[Column], Column]


def without_guesses(options: Mapping[str, str]) -> dict[str, str]:
    """Return options of Spark's reader with which it takes no comma for a sign of thousands."""
    has_locale = any(name.lower() == "locale" for name in options)
    return dict(options) if has_locale else {**options, "locale": _PLAIN_LOCALE}


def text_type(data_type: T.DataType, options: Mapping[str, str]) -> T.DataType:
    """Return a type as Spark is to read it: text in place of what it would guess.

    `options`: of Spark's reader; a format of times in them leaves those to Spark.
    """
    match data_type:
        case T.StructType():
            return text_schema(data_type, options)
        case T.ArrayType():
            return T.ArrayType(text_type(data_type.elementType, options))
        case T.MapType():
            return T.MapType(data_type.keyType, text_type(data_type.valueType, options))
        case _:
            return data_type if _reader(data_type, options) is None else T.StringType()


def text_schema(schema: T.StructType, options: Mapping[str, str]) -> T.StructType:
    """Return columns as `text_type` returns each."""
    return T.StructType(
        [T.StructField(each.name, text_type(each.dataType, options)) for each in schema]
    )


def text_value(read: Column, data_type: T.DataType, options: Mapping[str, str]) -> Column:
    """Return the value of a column that was read with `text_type`; NULL where it is not sure."""
    if text_type(data_type, options) == data_type:
        return read
    match data_type:
        case T.StructType():
            values = text_values(read, data_type, options)
            fields = [value.alias(name) for name, value in values.items()]
            return F.when(read.isNotNull(), F.struct(*fields))
        case T.ArrayType(elementType=item):
            return F.transform(read, lambda each: text_value(each, item, options))
        case T.MapType(valueType=item):
            return F.transform_values(read, lambda _key, each: text_value(each, item, options))
        case _:
            reader = _reader(data_type, options)
            return read if reader is None else reader(read)


def text_values(
    read: Column, schema: T.StructType, options: Mapping[str, str]
) -> dict[str, Column]:
    """Return the fields of a structure that was read with `text_schema`, by name."""
    return {
        each.name: text_value(read.getField(each.name), each.dataType, options) for each in schema
    }


def is_misfit(read: Column, data_type: T.DataType, options: Mapping[str, str]) -> Column:
    """Return whether a value was written that `text_value` does not take; never NULL."""
    if text_type(data_type, options) == data_type:
        return F.lit(False)  # noqa: FBT003 - a literal
    match data_type:
        case T.StructType():
            parts = (is_misfit(read.getField(e.name), e.dataType, options) for e in data_type)
            return reduce(Column.__or__, parts)
        case T.ArrayType(elementType=item):
            return _is_some(read, item, options)
        case T.MapType(valueType=item):
            return _is_some(F.map_values(read), item, options)
        case _:
            return read.isNotNull() & text_value(read, data_type, options).isNull()


def _is_some(items: Column, data_type: T.DataType, options: Mapping[str, str]) -> Column:
    found = F.exists(items, lambda item: is_misfit(item, data_type, options))
    return F.coalesce(found, F.lit(False))  # noqa: FBT003 - a literal


def _reader(data_type: T.DataType, options: Mapping[str, str]) -> _Reader | None:
    """Return how values of a type are read from text; `None` = by Spark."""
    formats = {name.lower() for name in options}
    match data_type:
        case T.TimestampType() if "timestampformat" not in formats:
            return _instant
        case T.TimestampNTZType() if "timestampntzformat" not in formats:
            return lambda text: _instant(text).cast(data_type)
        case T.DateType() if "dateformat" not in formats:
            return lambda text: F.when(~F.trim(text).rlike(_WHOLE), _instant(text).cast("date"))
        case _:
            return None


def _instant(text: Column) -> Column:
    """Return the time that a text tells in milliseconds since 1970 or in ISO 8601, else NULL."""
    trimmed = F.trim(text)
    iso = F.regexp_replace(trimmed, _OFFSET, "$1:$2")
    return F.when(trimmed.rlike(_WHOLE), F.timestamp_millis(trimmed.cast("bigint"))).when(
        trimmed.rlike(_TIME), iso.try_cast("timestamp")
    )

"""The columns of a stream as Spark types, and which types lose nothing when they become them.

The checks of sources that have types of their own, such as Parquet files and Delta tables.
"""

from collections.abc import Mapping
from typing import Final, cast

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as all of Spark's documentation has it
from pyspark.sql import types as T  # noqa: N812 - as all of Spark's documentation has it
from pyspark.sql.pandas.types import to_arrow_schema

from cep.pattern.problems import did_you_mean
from contract.snapshot import StreamDefinition
from processor_runtime.job_file.consistency import MALFORMED_COLUMN
from processor_runtime.spark.sources.errors import SourceError, first_sentence

# How many decimal digits the largest number of a type has.
_DIGITS: Final[Mapping[type[T.DataType], int]] = {
    T.ByteType: 3,
    T.ShortType: 5,
    T.IntegerType: 10,
    T.LongType: 19,
}
_INTEGERS: Final = tuple(_DIGITS)
# Every whole number of these is a double, too.
_EXACT_IN_DOUBLE: Final = (T.ByteType, T.ShortType, T.IntegerType, T.FloatType)
_EXACT_IN_FLOAT: Final = (T.ByteType, T.ShortType)
_NOT_CARRIED: Final = (T.CalendarIntervalType, T.YearMonthIntervalType, T.TimeType, T.SpatialType)
_NO_KEYS: Final = (T.ArrayType, T.StructType, T.MapType, T.VariantType)
_DEEPEST: Final = 50
# Bytes are taken as UTF-8: keys and headers of Kafka, text in old Parquet files.
_TEXTS: Final = (T.StringType, T.VarcharType, T.CharType, T.BinaryType)


def column(name: str) -> Column:
    """Return a column by its name, dots and all."""
    return F.col(quoted(name))


def quoted(name: str) -> str:
    """Return a name as it stands in SQL, whatever is in it."""
    return f"`{name.replace('`', '``')}`"


def stream_schema(stream: StreamDefinition) -> T.StructType:
    """Return the columns of a stream; any of them may be NULL.

    Raises:
        SourceError: Spark cannot read the DDL, or a name is taken by the job.
    """
    try:
        schema = cast("T.StructType", T.StructType.fromDDL(stream.ddl))
    except PySparkException as error:
        raise SourceError(
            f"the schema of the stream '{stream.name}' is no Spark DDL: {first_sentence(error)}"
        ) from None
    for each in schema:
        if problem := _problem(each.dataType):
            raise SourceError(
                f"the column {each.name} of the stream '{stream.name}' is "
                f"{type_text(each.dataType)}: {problem}"
            )
    if MALFORMED_COLUMN in schema.names:
        raise SourceError(
            f"the stream '{stream.name}' has a column {MALFORMED_COLUMN}, which the job uses "
            "itself. Give it another name, and tell the old one under source.columns"
        )
    return cast("T.StructType", _open(schema))


def arrow_schema(columns: T.StructType) -> pa.Schema:
    """Return columns as Arrow has them where Spark hands them to Python; instants are UTC."""
    return to_arrow_schema(columns, timezone="UTC")


def _problem(data_type: T.DataType, depth: int = 0) -> str | None:
    """Return why values of a type cannot go from Spark to the rules; `None` if they can."""
    if depth > _DEEPEST:
        return f"at most {_DEEPEST} types can be inside each other"
    match data_type:
        case T.StructType():
            inner = [each.dataType for each in data_type]
        case T.ArrayType():
            inner = [data_type.elementType]
        case T.MapType() if isinstance(data_type.keyType, _NO_KEYS):
            return "the keys of a MAP must be of a plain type"
        case T.MapType():
            inner = [data_type.keyType, data_type.valueType]
        case _ if isinstance(data_type, _NOT_CARRIED):
            return "Spark does not give such values to Python. Have them written as STRING"
        case _:
            return None
    problems = (_problem(each, depth + 1) for each in inner)
    return next(filter(None, problems), None)


def _open(data_type: T.DataType) -> T.DataType:
    """Return a type with NULL allowed everywhere and text of any length, as readers want it."""
    match data_type:
        case T.StructType():
            return T.StructType(
                [T.StructField(each.name, _open(each.dataType)) for each in data_type]
            )
        case T.ArrayType():
            return T.ArrayType(_open(data_type.elementType))
        case T.MapType():
            return T.MapType(_open(data_type.keyType), _open(data_type.valueType))
        case T.VarcharType() | T.CharType():
            return T.StringType()
        case _:
            return data_type


def typed_columns(
    found: T.StructType, wanted: T.StructType, names: Mapping[str, str]
) -> list[Column]:
    """Return the wanted columns, made from those that were found.

    `names`: what the source calls columns of the stream, where it is something else.

    Raises:
        SourceError: a column is missing, or its type could lose something.
    """
    types = {each.name: each.dataType for each in found}
    troubles: list[str] = []
    columns: list[Column] = []
    for each in wanted:
        name = names.get(each.name, each.name)
        if name not in types:
            troubles.append(
                f"it has no column '{name}'. {did_you_mean(name, types)} A column with another "
                f"name is told under source.columns: {{{each.name}: …}}"
            )
        elif not fits(types[name], each.dataType):
            troubles.append(
                f"its column '{name}' is {type_text(types[name])}, which cannot become "
                f"{type_text(each.dataType)} without loss. Change the stream's schema"
            )
        else:
            converted = _converted(column(name), types[name], each.dataType)
            columns.append(converted.alias(each.name))
    if troubles:
        raise SourceError("the source does not fit the stream:\n  " + "\n  ".join(troubles))
    return columns


def fits(given: T.DataType, wanted: T.DataType) -> bool:  # noqa: PLR0911 - one line per type
    """Return whether every value of a type can become one of another without loss."""
    match given, wanted:
        case T.StructType(), T.StructType():
            return given.names == wanted.names and all(
                fits(one.dataType, other.dataType)
                for one, other in zip(given.fields, wanted.fields, strict=True)
            )
        case T.ArrayType(), T.ArrayType():
            return fits(given.elementType, wanted.elementType)
        case T.MapType(), T.MapType():
            return fits(given.keyType, wanted.keyType) and fits(given.valueType, wanted.valueType)
        case T.DecimalType(), T.DecimalType():
            whole_digits = given.precision - given.scale
            return given.scale <= wanted.scale and whole_digits <= wanted.precision - wanted.scale
        case _, T.DecimalType() if isinstance(given, _INTEGERS):
            return _DIGITS[type(given)] <= wanted.precision - wanted.scale
        case _, T.DoubleType():
            return isinstance(given, (T.DoubleType, *_EXACT_IN_DOUBLE))
        case _, T.FloatType():
            return isinstance(given, (T.FloatType, *_EXACT_IN_FLOAT))
        case _, T.StringType() if isinstance(given, _TEXTS):
            return True
        case _ if isinstance(given, _INTEGERS) and isinstance(wanted, _INTEGERS):
            return _DIGITS[type(given)] <= _DIGITS[type(wanted)]
        case _:
            return given == wanted


def _converted(value: Column, given: T.DataType, wanted: T.DataType) -> Column:
    """Return a value of one type as another that it fits; bytes that are no UTF-8 are replaced."""
    if isinstance(wanted, T.StringType) and isinstance(given, T.BinaryType):
        return F.make_valid_utf8(value.cast("string"))
    if isinstance(wanted, T.ArrayType) and isinstance(given, T.ArrayType):
        item_types = given.elementType, wanted.elementType
        return F.transform(value, lambda item: _converted(item, *item_types))
    if isinstance(wanted, T.StructType) and isinstance(given, T.StructType):
        fields = [
            _converted(value.getField(field.name), field.dataType, wanted[field.name].dataType)
            for field in given
        ]
        named = [each.alias(name) for each, name in zip(fields, given.names, strict=True)]
        return F.when(value.isNotNull(), F.struct(*named))
    return value.cast(wanted)


def type_text(data_type: T.DataType) -> str:
    """Return a type as it is written in a schema."""
    return data_type.simpleString().upper()

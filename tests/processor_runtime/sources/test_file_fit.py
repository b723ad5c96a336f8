"""Which columns of a file are read as what they are."""

import pytest
from pyspark.sql import types as T  # noqa: N812 - as all of Spark's documentation has it

from processor_runtime.spark.sources.file_fit import FileMisfits, file_misfits, reader_type

INT, LONG, DOUBLE, TEXT, BYTES = (
    T.IntegerType(),
    T.LongType(),
    T.DoubleType(),
    T.StringType(),
    T.BinaryType(),
)
TIME, LOCAL_TIME = T.TimestampType(), T.TimestampNTZType()


def columns(**types: T.DataType) -> T.StructType:
    return T.StructType([T.StructField(name, each) for name, each in types.items()])


def misfits(
    found: T.StructType, read: T.StructType, file_format: str = "parquet", *given: str
) -> FileMisfits:
    return file_misfits(found, read, file_format, frozenset(given))


def test_other_order_more_columns_and_other_case_are_read_as_they_are() -> None:
    assert misfits(columns(More=INT, B=LONG, a=TEXT), columns(a=TEXT, b=LONG)) == FileMisfits()


def test_a_missing_column_is_told_unless_its_directory_gives_it() -> None:
    read = columns(a=TEXT, day=TEXT, s=columns(x=INT, y=INT))
    found = columns(a=TEXT, s=columns(y=INT))
    assert misfits(found, read).missing == ("day", "s.x")
    assert misfits(found, read, "orc", "day").missing == ("s.x",)


@pytest.mark.parametrize(
    ("found", "read"),
    [
        (LONG, INT),
        (LONG, DOUBLE),
        (TEXT, LONG),
        (DOUBLE, LONG),
        (T.DecimalType(10, 2), LONG),
        (TIME, LOCAL_TIME),
        (T.DateType(), TIME),
        (TEXT, TIME),
        (T.ArrayType(LONG), T.ArrayType(INT)),
        (T.MapType(TEXT, LONG), T.MapType(TEXT, TEXT)),
        (columns(x=TEXT), columns(x=INT)),
        (T.ArrayType(LONG), LONG),
        (LONG, columns(x=LONG)),
    ],
)
def test_another_type_is_wrong(found: T.DataType, read: T.DataType) -> None:
    assert misfits(columns(a=found), columns(a=read)).wrong


def test_what_is_wrong_is_told_with_both_types() -> None:
    assert misfits(columns(a=TEXT), columns(a=LONG)).wrong == (
        "its column 'a' is STRING, which is no BIGINT",
    )
    assert misfits(columns(a=LONG, A=LONG), columns(a=LONG)).wrong == (
        "its columns a, A have the same name but for capital letters",
    )


def test_bytes_are_text_in_parquet_only() -> None:
    assert not misfits(columns(a=BYTES), columns(a=TEXT)).wrong
    assert misfits(columns(a=BYTES), columns(a=TEXT), "orc").wrong


def test_columns_are_read_as_the_stream_has_them_if_readers_can() -> None:
    assert reader_type(INT, LONG) == LONG
    assert reader_type(BYTES, TEXT) == BYTES
    assert reader_type(LONG, T.DecimalType(20, 0)) == LONG
    assert reader_type(TEXT, LONG) == LONG

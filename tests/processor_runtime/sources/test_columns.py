"""Which types become which without loss, and which columns of a file are read as what they are."""

from typing import Any

import pytest
from pyspark.sql import types as T  # noqa: N812 - as all of Spark's documentation has it

from processor_runtime.spark.sources.columns import fits, stream_schema
from processor_runtime.spark.sources.errors import SourceError
from processor_runtime.spark.sources.file_fit import FileMisfits, file_misfits, reader_type
from tests.processor_runtime.sources.streams import stream, struct

BYTE, INT, LONG = T.ByteType(), T.IntegerType(), T.LongType()
FLOAT, DOUBLE, TEXT, BYTES = T.FloatType(), T.DoubleType(), T.StringType(), T.BinaryType()


@pytest.mark.parametrize(
    ("given", "wanted", "takes_all"),
    [
        (BYTE, LONG, True),
        (INT, DOUBLE, True),
        (FLOAT, DOUBLE, True),
        (BYTE, FLOAT, True),
        (LONG, T.DecimalType(19, 0), True),
        (T.DecimalType(5, 2), T.DecimalType(6, 3), True),
        (BYTES, TEXT, True),
        (T.VarcharType(9), TEXT, True),
        (T.ArrayType(INT, containsNull=False), T.ArrayType(LONG), True),
        (struct(a=INT), struct(a=LONG), True),
        (T.MapType(TEXT, INT), T.MapType(TEXT, LONG), True),
        (T.DateType(), T.DateType(), True),
        (LONG, INT, False),
        (LONG, DOUBLE, False),
        (INT, FLOAT, False),
        (DOUBLE, FLOAT, False),
        (DOUBLE, T.DecimalType(38, 10), False),
        (LONG, T.DecimalType(18, 0), False),
        (T.DecimalType(5, 2), T.DecimalType(5, 3), False),
        (INT, TEXT, False),
        (TEXT, BYTES, False),
        (T.TimestampType(), T.TimestampNTZType(), False),
        (LONG, T.TimestampType(), False),
        (T.ArrayType(LONG), T.ArrayType(INT), False),
        (struct(a=INT), struct(b=INT), False),
        (struct(a=INT), INT, False),
        (T.MapType(TEXT, LONG), T.MapType(TEXT, INT), False),
    ],
)
def test_a_type_fits_that_takes_every_value(given: Any, wanted: Any, *, takes_all: bool) -> None:
    assert fits(given, wanted) is takes_all


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_a_type_whose_values_cannot_reach_a_rule_is_refused() -> None:
    for column, reason in [
        ("INTERVAL YEAR TO MONTH", "INTERVAL YEAR TO MONTH: Spark does not give such values"),
        ("ARRAY<INTERVAL>", "Have them written as STRING"),
        ("STRUCT<a: TIME(6)>", "Have them written as STRING"),
        ("MAP<STRUCT<a: INT>, INT>", "the keys of a MAP must be of a plain type"),
        ("ARRAY<" * 60 + "INT" + ">" * 60, "at most 50 types can be inside each other"),
    ]:
        with pytest.raises(SourceError, match="the column x of the stream 'logins' is") as refused:
            stream_schema(stream(f"x {column}, ts BIGINT"))
        assert reason in str(refused.value)


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_a_type_that_no_expression_reads_is_taken() -> None:
    for column in ("INTERVAL DAY TO SECOND", "MAP<BINARY, ARRAY<DATE>>", "VARIANT", "CHAR(3)"):
        assert stream_schema(stream(f"x {column}, ts BIGINT")).names == ["x", "ts"]


INT, LONG, DOUBLE = T.IntegerType(), T.LongType(), T.DoubleType()
TEXT, BYTES = T.StringType(), T.BinaryType()
TIME, LOCAL_TIME = T.TimestampType(), T.TimestampNTZType()


def misfits(
    found: T.StructType, read: T.StructType, file_format: str = "parquet", *given: str
) -> FileMisfits:
    return file_misfits(found, read, file_format, frozenset(given))


def test_other_order_more_columns_and_other_case_are_read_as_they_are() -> None:
    assert misfits(struct(More=INT, B=LONG, a=TEXT), struct(a=TEXT, b=LONG)) == FileMisfits()


def test_a_missing_column_is_told_unless_its_directory_gives_it() -> None:
    read = struct(a=TEXT, day=TEXT, s=struct(x=INT, y=INT))
    found = struct(a=TEXT, s=struct(y=INT))
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
        (struct(x=TEXT), struct(x=INT)),
        (T.ArrayType(LONG), LONG),
        (LONG, struct(x=LONG)),
    ],
)
def test_another_type_is_wrong(found: T.DataType, read: T.DataType) -> None:
    assert misfits(struct(a=found), struct(a=read)).wrong


def test_what_is_wrong_is_told_with_both_types() -> None:
    assert misfits(struct(a=TEXT), struct(a=LONG)).wrong == (
        "its column 'a' is STRING, which is no BIGINT",
    )
    assert misfits(struct(a=LONG, A=LONG), struct(a=LONG)).wrong == (
        "its columns a, A have the same name but for capital letters",
    )


def test_bytes_are_text_in_parquet_only() -> None:
    assert not misfits(struct(a=BYTES), struct(a=TEXT)).wrong
    assert misfits(struct(a=BYTES), struct(a=TEXT), "orc").wrong


def test_columns_are_read_as_the_stream_has_them_if_readers_can() -> None:
    assert reader_type(INT, LONG) == LONG
    assert reader_type(BYTES, TEXT) == BYTES
    assert reader_type(LONG, T.DecimalType(20, 0)) == LONG
    assert reader_type(TEXT, LONG) == LONG

"""Which types become which without loss."""

import pytest
from pyspark.sql import types as T  # noqa: N812 - as all of Spark's documentation has it

from processor_runtime.spark.sources.columns import fits, stream_schema
from processor_runtime.spark.sources.errors import SourceError
from tests.processor_runtime.sources.streams import stream

BYTE, INT, LONG, FLOAT, DOUBLE = (
    T.ByteType(),
    T.IntegerType(),
    T.LongType(),
    T.FloatType(),
    T.DoubleType(),
)
TEXT, BYTES = T.StringType(), T.BinaryType()


def struct(**fields: T.DataType) -> T.StructType:
    return T.StructType([T.StructField(name, each) for name, each in fields.items()])


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (BYTE, LONG),
        (INT, DOUBLE),
        (FLOAT, DOUBLE),
        (BYTE, FLOAT),
        (LONG, T.DecimalType(19, 0)),
        (T.DecimalType(5, 2), T.DecimalType(6, 3)),
        (BYTES, TEXT),
        (T.VarcharType(9), TEXT),
        (T.ArrayType(INT, containsNull=False), T.ArrayType(LONG)),
        (struct(a=INT), struct(a=LONG)),
        (T.MapType(TEXT, INT), T.MapType(TEXT, LONG)),
        (T.DateType(), T.DateType()),
    ],
)
def test_a_wider_type_takes_every_value(given: T.DataType, wanted: T.DataType) -> None:
    assert fits(given, wanted)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (LONG, INT),
        (LONG, DOUBLE),
        (INT, FLOAT),
        (DOUBLE, FLOAT),
        (DOUBLE, T.DecimalType(38, 10)),
        (LONG, T.DecimalType(18, 0)),
        (T.DecimalType(5, 2), T.DecimalType(5, 3)),
        (INT, TEXT),
        (TEXT, BYTES),
        (T.TimestampType(), T.TimestampNTZType()),
        (LONG, T.TimestampType()),
        (T.ArrayType(LONG), T.ArrayType(INT)),
        (struct(a=INT), struct(b=INT)),
        (struct(a=INT), INT),
        (T.MapType(TEXT, LONG), T.MapType(TEXT, INT)),
    ],
)
def test_a_type_that_could_lose_something_does_not_fit(
    given: T.DataType, wanted: T.DataType
) -> None:
    assert not fits(given, wanted)


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

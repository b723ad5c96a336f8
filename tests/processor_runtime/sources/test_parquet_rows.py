"""Parquet: columns by name, types that become wider, and what is no such file."""

import io
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any, Final

import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as all of Spark's documentation has it

from processor_runtime.sources.directories import directory_texts
from processor_runtime.sources.parquet_rows import ParquetRows, rows_at_once
from processor_runtime.sources.values import UnreadableFile
from processor_runtime.spark.sources.columns import arrow_schema, stream_schema, typed_columns
from tests.processor_runtime.sources.streams import stream

INSTANT: Final = pa.timestamp("us", "UTC")
COLUMNS: Final = pa.schema(
    [
        ("at", INSTANT),
        ("number", pa.int64()),
        ("text", pa.string()),
        ("real", pa.float64()),
        ("truth", pa.bool_()),
        ("small", pa.int16()),
    ]
)
AT: Final = datetime(2026, 5, 1, 10, tzinfo=UTC)


def written(table: pa.Table, **keys: Any) -> bytes:
    target = io.BytesIO()
    parquet.write_table(table, target, **keys)
    return target.getvalue()


def read(
    data: bytes,
    columns: pa.Schema = COLUMNS,
    names: tuple[str, ...] = (),
    directories: Mapping[str, str | None] | None = None,
) -> pl.DataFrame:
    found = ParquetRows(columns, names).read(io.BytesIO(data), len(data), directories or {})
    return pl.concat(part.columns for part in found)


def table(**columns: Any) -> pa.Table:
    """Return one event, with other columns where they are given; a type is an array's own."""
    own: dict[str, Any] = {
        "at": pa.array([AT], INSTANT),
        "number": pa.array([1], pa.int64()),
        "text": ["a"],
        "real": [0.5],
        "truth": [True],
        "small": pa.array([1], pa.int16()),
    }
    return pa.table({name: of for name, of in (own | columns).items() if of is not None})


def of_one(wanted: pa.DataType, given: pa.Array) -> list[Any]:
    """Return what a column is as another type."""
    data = written(pa.table({"V": given}))
    found: list[Any] = read(data, pa.schema([("v", wanted)])).to_arrow().column("v").to_pylist()
    return found


def test_columns_are_taken_by_name_and_others_left() -> None:
    columns = pa.schema([("at", INSTANT), ("n", pa.int64())])
    data = written(table(more=["x"]).select(["more", "number", "text", "at"]))
    found = read(data, columns, ("AT", "number"))
    assert found.schema == {"at": pl.Datetime("us", "UTC"), "n": pl.Int64()}
    assert found.rows() == [(AT, 1)]


def test_a_column_that_is_missing_is_null_or_that_of_a_directory() -> None:
    data = written(table(number=None, at=None))
    assert read(data).row(0) == (None, None, "a", 0.5, True, 1)
    given = directory_texts("file:/in/NUMBER=7/at=2026-05-01T10%3A00%3A00Z/text=no/a.parquet")
    assert read(data, directories=given).row(0) == (AT, 7, "a", 0.5, True, 1)
    assert read(data, pa.schema([("number", pa.int64())]), directories=given).rows() == [(7,)]
    with pytest.raises(UnreadableFile, match="gives 'x', which does not fit the column 'number'"):
        read(data, directories={"number": "x"})


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (table(NUMBER=[1]), "number, NUMBER have the same name"),
        (table(number=["1"]), "'number' is string, which is no int64"),
        (table(text=[1]), "'text' is int64, which is no string"),
        (table(number=[1.5]), "'number' is double, which is no int64: .*truncated"),
        (table(small=pa.array([40_000], pa.int64())), "'small' is int64, which is no int16"),
        (table(at=["2026-05-01T10:00:00Z"]), "'at' is string"),
        (table(at=[1.5]), "'at' is double"),
        (table(truth=[[True]]), "'truth' is list"),
        (table(number=[{"a": 1}]), "'number' is struct"),
    ],
)
def test_what_cannot_be_read_without_loss_is_refused(given: pa.Table, reason: str) -> None:
    with pytest.raises(UnreadableFile, match=reason):
        read(written(given))


def test_types_become_wider_at_any_depth() -> None:
    for given, data_type, wanted, value in [
        (-128, pa.int8(), pa.int64(), -128),
        (255, pa.uint8(), pa.int16(), 255),
        (2**31 - 1, pa.int32(), pa.float64(), 2.0**31 - 1),
        (-128, pa.int8(), pa.float32(), -128.0),
        (1.5, pa.float32(), pa.float64(), 1.5),
        (2**63 - 1, pa.int64(), pa.decimal128(20, 0), Decimal(2**63 - 1)),
        (Decimal("-123.45"), pa.decimal128(5, 2), pa.decimal128(12, 4), Decimal("-123.4500")),
        (b"a\xff", pa.binary(), pa.string(), "a\ufffd"),
        (b"ab", pa.binary(2), pa.string(), "ab"),
        ("\u00e9", pa.large_string(), pa.string(), "é"),
        ("a", pa.string(), pa.binary(), b"a"),
        (date(1, 1, 1), pa.date32(), pa.date32(), date(1, 1, 1)),
        (AT, pa.timestamp("ms", "UTC"), INSTANT, AT),
        ([b"\xff"], pa.list_(pa.binary()), pa.list_(pa.string()), ["\ufffd"]),
        ([("k", 1.5)], pa.map_(pa.string(), pa.float32()), None, [("k", 1.5)]),
    ]:
        to = wanted or pa.map_(pa.string(), pa.float64())
        for values, result in (([given, None], [value, None]), ([None, given], [None, value])):
            assert of_one(to, pa.array(values, data_type)) == result, (data_type, to)


def test_fields_inside_are_taken_by_name_too() -> None:
    inner = pa.struct([("b", pa.int32()), ("A", pa.binary())])
    wanted = pa.struct([("a", pa.string()), ("B", pa.int64()), ("c", pa.date32())])
    given, value = {"b": 1, "A": b"x\xff"}, {"a": "x\ufffd", "B": 1, "c": None}
    assert of_one(wanted, pa.array([None, given], inner)) == [None, value]
    items = pa.array([[given, None], None, []], pa.list_(inner))
    assert of_one(pa.list_(wanted), items) == [[value, None], None, []]
    pairs = pa.array([[("k", given)], None], pa.map_(pa.string(), inner))
    assert of_one(pa.map_(pa.string(), wanted), pairs) == [[("k", value)], None]


def test_the_times_of_old_files_are_instants_of_utc() -> None:
    for year in (1, 1582, 1969, 2026, 9999):
        at = AT.replace(year=year, microsecond=123_456)
        data = written(table(at=[at.replace(tzinfo=None)]), use_deprecated_int96_timestamps=True)
        assert read(data).row(0)[0] == at


def test_half_a_file_is_refused_and_one_that_has_grown() -> None:
    data = written(table())
    for cut in (data[:10], data[: len(data) // 2], data[:-1], b"x" * 100):
        with pytest.raises((UnreadableFile, pa.ArrowException, OSError)):
            read(cut)
    with pytest.raises(UnreadableFile, match="not as large"):
        list(ParquetRows(COLUMNS).read(io.BytesIO(data + data), len(data)))
    assert list(ParquetRows(COLUMNS).read(io.BytesIO(), 0)) == []


@pytest.mark.parametrize(
    ("length", "least", "most"), [(1, 200_000, 200_000), (1_000, 50_000, 90_000)]
)
def test_fewer_rows_are_read_at_once_if_they_are_large(length: int, least: int, most: int) -> None:
    texts = [f"{number}".ljust(length, "x") for number in range(1_000)]
    data = written(pa.table({"text": texts * 20}), use_dictionary=False)
    assert least <= rows_at_once(parquet.read_metadata(io.BytesIO(data))) <= most
    assert len(read(data)) == 20_000
    nothing = written(pa.table({"text": texts})[:0])
    assert rows_at_once(parquet.read_metadata(io.BytesIO(nothing))) >= 1


def test_text_that_is_no_utf8_is_mended_as_everywhere() -> None:
    text = pa.array([b"a\xff"], pa.binary()).view(pa.string())
    data = written(table().set_column(2, "text", text))
    assert read(data).get_column("text").to_list() == ["a\ufffd"]


@pytest.mark.spark
def test_what_is_read_is_what_spark_reads(spark: SparkSession, tmp_path: Path) -> None:
    random = Random(20_261_125)  # noqa: S311 - no secret
    some: dict[str, list[Any]] = {
        "at": [AT + timedelta(microseconds=number**5) for number in range(50)],
        "number": [0, -1, 2**63 - 1, -(2**63), 12345],
        "text": ["", "a", "é", "a\nb", "\0", '"', "漢" * 50],
        "real": [0.0, -0.0, float("nan"), float("inf"), float("-inf"), 5e-324, 0.1],
        "truth": [True, False],
        "small": [-32768, 32767, 0],
    }
    ours: dict[str, list[tuple[Any, ...]]] = {}
    for number in range(20):
        arrays = {
            name: pa.array(random.choices([*values, None], k=20), COLUMNS.field(name).type)
            for name, values in some.items()
        }
        data = written(
            pa.table(arrays),
            coerce_timestamps=random.choice(["us", "ms"]),
            allow_truncated_timestamps=True,
        )
        (tmp_path / f"{number}.parquet").write_bytes(data)
        ours[f"{number}.parquet"] = read(data).rows()
    ddl = "at TIMESTAMP, number BIGINT, text STRING, real DOUBLE, truth BOOLEAN, small SMALLINT"
    schema = stream_schema(stream(ddl, "at"))
    files = spark.read.schema(schema).parquet(str(tmp_path))
    rows = files.select(
        F.col("_metadata.file_name").alias("file"), *typed_columns(files.schema, schema, {})
    ).toArrow()
    found = pl.DataFrame(pl.from_arrow(rows)).group_by("file", maintain_order=True)
    by_file = {str(file): part.drop("file").rows() for (file,), part in found}
    assert repr(sorted(by_file.items())) == repr(sorted(ours.items()))  # NaN is not equal to NaN


@pytest.mark.spark
@pytest.mark.long
def test_files_of_spark_are_read_as_spark_reads_them(spark: SparkSession, tmp_path: Path) -> None:
    """Its times are INT96, its texts and numbers in all the types that become wider."""
    values = {
        "at": ("TIMESTAMP", "TIMESTAMP '2026-05-01 10:00:00.123456'", "TIMESTAMP"),
        "here": ("TIMESTAMP_NTZ", "TIMESTAMP_NTZ '2026-05-01 10:00:00'", "TIMESTAMP_NTZ"),
        "day": ("DATE", "DATE '1999-12-31'", "DATE"),
        "tiny": ("TINYINT", "-128", "BIGINT"),
        "whole": ("INT", "-2147483648", "DOUBLE"),
        "real": ("FLOAT", "1.5", "DOUBLE"),
        "exact": ("DECIMAL(5,2)", "-123.45", "DECIMAL(12,4)"),
        "large": ("DECIMAL(18,2)", "1234567890123456.78", "DECIMAL(38,4)"),
        "octets": ("BINARY", "X'C3A4'", "STRING"),
        "raw": ("BINARY", "X'00FF'", "BINARY"),
        "inner": (
            "STRUCT<b: INT, a: STRING>",
            "named_struct('b', 1, 'a', 'x')",
            "STRUCT<a: STRING>",
        ),
        "items": (
            "ARRAY<STRUCT<a: INT>>",
            "array(named_struct('a', 1))",
            "ARRAY<STRUCT<a: BIGINT>>",
        ),
        "pairs": ("MAP<STRING, FLOAT>", "map('k', 1.5)", "MAP<STRING, DOUBLE>"),
    }
    made = ", ".join(f"CAST({v} AS {found}) AS {name}" for name, (found, v, _) in values.items())
    spark.sql(f"SELECT {made}").coalesce(1).write.parquet(str(tmp_path / "in"))
    (path,) = (tmp_path / "in").glob("part-*")
    schema = stream_schema(stream(", ".join(f"{n} {t}" for n, (_, _, t) in values.items()), "at"))
    by_spark = spark.read.schema(schema).parquet(str(tmp_path / "in")).toArrow()
    found = pa.table(read(path.read_bytes(), arrow_schema(schema)).to_arrow())
    octets = found.column("octets").to_pylist()
    assert octets == ["ä"]
    assert repr(found.to_pylist()) == repr(by_spark.to_pylist())

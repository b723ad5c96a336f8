"""Plain Parquet read without Spark: the same values as Spark's reader, or a refusal."""

import io
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, Final

import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as all of Spark's documentation has it
from pyspark.sql import types as T  # noqa: N812 - as all of Spark's documentation has it

from processor_runtime.job_file.source import Source
from processor_runtime.rows.plain_form import TIMESTAMP, NotPlain
from processor_runtime.rows.plain_parquet import ParquetForm, rows_at_once
from processor_runtime.spark.sources.columns import stream_schema, typed_columns
from processor_runtime.spark.sources.plain_files import plain_form
from tests.processor_runtime.sources.streams import stream, struct

DDL: Final = "at TIMESTAMP, number BIGINT, text STRING, real DOUBLE, truth BOOLEAN, small SMALLINT"
TYPES: Final = {
    "at": TIMESTAMP,
    "number": pl.Int64(),
    "text": pl.String(),
    "real": pl.Float64(),
    "truth": pl.Boolean(),
    "small": pl.Int16(),
}
FORM: Final = ParquetForm(TYPES, tuple(TYPES))
AT: Final = datetime(2026, 5, 1, 10, tzinfo=UTC)


def read(data: bytes, form: ParquetForm = FORM) -> pl.DataFrame:
    return pl.concat(form.events(io.BytesIO(data), len(data)))


def written(frame: pl.DataFrame | pa.Table) -> bytes:
    target = io.BytesIO()
    table = frame if isinstance(frame, pa.Table) else frame.to_arrow()
    parquet.write_table(table, target)
    return target.getvalue()


def frame(**columns: Any) -> pl.DataFrame:
    """Return one event, with other columns or types where they are given."""
    given = {
        "at": pl.Series([AT], dtype=TIMESTAMP),
        "number": pl.Series([1], dtype=pl.Int64),
        "text": ["a"],
        "real": [0.5],
        "truth": [True],
        "small": pl.Series([1], dtype=pl.Int16),
    }
    return pl.DataFrame({name: of for name, of in (given | columns).items() if of is not None})


def test_columns_are_taken_by_name_and_others_left() -> None:
    form = ParquetForm({"at": TIMESTAMP, "n": pl.Int64()}, ("at", "number"))
    found = read(written(frame(more=["x"]).select("more", "number", "text", "at")), form)
    assert found.schema == {"at": TIMESTAMP, "n": pl.Int64()}
    assert found.rows() == [(AT, 1)]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (frame(number=None), "no column number"),
        (frame(NUMBER=[1]), "no column number, or several"),
        (frame(number=pl.Series([1], dtype=pl.Int32)), "number of type int32"),
        (frame(number=["1"]), "number of type"),
        (frame(at=[AT.replace(tzinfo=None)]), "at of type"),
        (frame(at=pl.Series([AT]).cast(pl.Datetime("ns", "UTC"))), "at of type"),
        (frame(at=[AT.replace(year=1969)]), "before 1970"),
        (frame(at=[AT.replace(year=2100)]), "after 2099"),
    ],
)
def test_what_spark_may_read_in_another_way_is_refused(given: pl.DataFrame, reason: str) -> None:
    with pytest.raises(NotPlain, match=reason):
        read(written(given))


def test_half_a_file_is_refused_and_one_that_has_grown() -> None:
    data = written(frame())
    for cut in (b"", data[:10], data[: len(data) // 2], data[:-1], b"x" * 100):
        with pytest.raises((NotPlain, OSError)):
            read(cut)
    with pytest.raises(NotPlain, match="not as large"):
        list(FORM.events(io.BytesIO(data + data), len(data)))


@pytest.mark.parametrize(
    ("length", "least", "most"), [(1, 200_000, 200_000), (1_000, 50_000, 90_000)]
)
def test_fewer_rows_are_read_at_once_if_they_are_large(length: int, least: int, most: int) -> None:
    texts = [f"{number}".ljust(length, "x") for number in range(1_000)]
    table = pl.DataFrame({"text": texts * 20}).to_arrow()
    target = io.BytesIO()
    parquet.write_table(table, target, use_dictionary=False)
    assert least <= rows_at_once(parquet.read_metadata(target)) <= most
    nothing = io.BytesIO()
    parquet.write_table(table[:0], nothing)
    assert rows_at_once(parquet.read_metadata(nothing)) >= 1


def test_text_that_is_no_utf8_is_mended_as_everywhere() -> None:
    text = pa.array([b"a\xff"], pa.binary()).view(pa.string())
    table = frame().to_arrow().set_column(2, "text", text)
    assert read(written(table)).get_column("text").to_list() == ["a\ufffd"]


def test_which_sources_are_plain(tmp_path: Path) -> None:
    schema = struct(at=T.TimestampType(), number=T.LongType())

    def is_plain(**keys: Any) -> bool:
        source = {"format": "parquet", "path": str(tmp_path)} | keys
        return plain_form(Source.model_validate(source), schema, "at") is not None

    assert is_plain()
    assert is_plain(options={"maxFilesPerTrigger": "3"})
    assert not is_plain(options={"mergeSchema": "true"})
    assert not is_plain(value_format="json")
    assert not is_plain(path="hdfs://host/in")
    (tmp_path / "a.parquet").write_bytes(written(frame()))
    assert is_plain()
    (tmp_path / "b.parquet").write_bytes(written(frame(number=["1"])))
    assert not is_plain()


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
    plain: dict[str, list[tuple[Any, ...]]] = {}
    for number in range(40):
        columns = {
            name: pl.Series([random.choice([*values, None]) for _ in range(20)], dtype=TYPES[name])
            for name, values in some.items()
        }
        unit = random.choice(["us", "ms"])
        given = pl.DataFrame(columns).with_columns(
            pl.col("at").cast(pl.Datetime("ms" if unit == "ms" else "us", "UTC"))
        )
        data = written(given)
        (tmp_path / f"{number}.parquet").write_bytes(data)
        plain[f"{number}.parquet"] = read(data).rows()
    schema = stream_schema(stream(DDL))
    files = spark.read.schema(schema).parquet(str(tmp_path))
    rows = files.select(
        F.col("_metadata.file_name").alias("file"), *typed_columns(files.schema, schema, {})
    ).toArrow()
    found = pl.DataFrame(pl.from_arrow(rows)).group_by("file", maintain_order=True)
    by_file = {str(file): part.drop("file").rows() for (file,), part in found}
    assert repr(sorted(by_file.items())) == repr(sorted(plain.items()))  # NaN is not equal to NaN

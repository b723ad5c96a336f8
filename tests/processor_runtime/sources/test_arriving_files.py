"""Files that arrive in another shape: nothing is read as what it is not, and nothing is silent."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest
from pyarrow import orc
from pyarrow import parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql import types as T  # noqa: N812 - as all of Spark's documentation has it

from processor_runtime.job_file.source import Source
from processor_runtime.rows.output_rows import OutputRow
from processor_runtime.spark.sources import SourceError
from processor_runtime.spark.sources.file_fit import FileMisfits, file_misfits
from processor_runtime.spark.sources.file_schemas import FileSchemas
from tests.processor_runtime.core.pipeline import DictFiles
from tests.processor_runtime.sources.streams import opened, stream

AT: Final = datetime(2026, 5, 1, 10, tzinfo=UTC)
GOOD: Final = {"user": "ana", "amount": 5, "ts": AT}
BOTH: Final = pytest.mark.parametrize(
    "file_format", ["parquet", pytest.param("orc", marks=pytest.mark.long)]
)


def write(path: Path, columns: dict[str, Any]) -> None:
    table = pa.table({name: pa.array([value]) for name, value in columns.items()})
    if path.suffix == ".orc":
        orc.write_table(table, str(path))
    else:
        pq.write_table(table, path)


def checked(
    spark: SparkSession, folder: Path, file_format: str, *names: str, **options: str
) -> list[OutputRow]:
    """Return what is told of files that the first batch of a query reads."""
    files = DictFiles()
    files.write("offsets/0", b'v1\n{}\n{"logOffset":0}')
    lines = [json.dumps({"path": f"file://{folder / name}", "batchId": 0}) for name in names]
    files.write("sources/0/0", "\n".join(["v1", *lines]).encode())
    source = Source.model_validate({"format": file_format, "path": str(folder), "options": options})
    definition = stream("user STRING, amount BIGINT, ts TIMESTAMP")
    return opened(spark, source, definition, files).check(0)


def told(row: OutputRow) -> dict[str, str]:
    content: dict[str, str] = json.loads(row.events or "")
    return content


@BOTH
def test_a_missing_column_is_told_and_more_columns_are_not(
    spark: SparkSession, tmp_path: Path, file_format: str
) -> None:
    write(tmp_path / f"a.{file_format}", {"ts": AT, "USER": "ana", "more": 1, "amount": 5})
    write(tmp_path / f"b [1] %.{file_format}", {"user": "bob", "amonut": 5, "ts": AT})

    (row,) = checked(spark, tmp_path, file_format, f"a.{file_format}", f"b [1] %25.{file_format}")

    assert row.kind == "error"
    assert json.loads(row.error or "")["reason"] == "file"
    assert told(row)["file"] == f"file://{tmp_path}/b [1] %.{file_format}"
    reason = told(row)["reason"]
    assert "no column 'amount', which is NULL in its rows. Did you mean 'amonut'?" in reason
    assert "source.columns: {amount: …}" in reason


WRONG: Final = {
    "decimal": ("amount", Decimal("6.50"), "'amount' is DECIMAL(3,2), which is no BIGINT"),
    "text": ("amount", "6", "'amount' is STRING"),
    "double": ("amount", 6.5, "'amount' is DOUBLE"),
    "list": ("amount", [6], "'amount' is ARRAY<BIGINT>"),
    "whole": ("user", 7, "'user' is BIGINT, which is no STRING"),
    "epoch": ("ts", 1_777_629_600_000, "'ts' is BIGINT, which is no TIMESTAMP"),
    "written": ("ts", "2026-05-01T10:00:00Z", "'ts' is STRING"),
    "day": ("ts", date(2026, 5, 1), "'ts' is DATE"),
}


@BOTH
def test_a_column_of_another_type_ends_the_job_and_names_the_file(
    spark: SparkSession, tmp_path: Path, file_format: str
) -> None:
    for name, (column, value, shown) in WRONG.items():
        file = f"{name}.{file_format}"
        write(tmp_path / file, {**GOOD, column: value})
        with pytest.raises(SourceError) as refused:
            checked(spark, tmp_path, file_format, file, ignoreCorruptFiles="true")
        assert f"/{file}: its column {shown}" in str(refused.value)
        assert "Write it again under the same name" in str(refused.value)


@pytest.mark.long
def test_a_time_without_a_zone_is_no_instant(spark: SparkSession, tmp_path: Path) -> None:
    # Files of ORC do not say which of the two they have.
    write(tmp_path / "b.parquet", {**GOOD, "ts": AT.replace(tzinfo=None)})
    with pytest.raises(SourceError, match="'ts' is TIMESTAMP_NTZ, which is no TIMESTAMP"):
        checked(spark, tmp_path, "parquet", "b.parquet")


@BOTH
def test_a_file_that_cannot_be_read_is_named_or_skipped_if_an_option_says_so(
    spark: SparkSession, tmp_path: Path, file_format: str
) -> None:
    half, gone, empty = f"half.{file_format}", f"gone.{file_format}", f"empty.{file_format}"
    write(tmp_path / half, GOOD)
    content = (tmp_path / half).read_bytes()
    (tmp_path / half).write_bytes(content[: len(content) // 2])
    (tmp_path / empty).touch()

    with pytest.raises(SourceError) as refused:
        checked(spark, tmp_path, file_format, half, gone, empty)
    assert "ignoreCorruptFiles: true" in str(refused.value)
    assert f"/{gone}: it is not there any more. Put it back; or" in str(refused.value)
    assert empty not in str(refused.value)

    skipping = {"ignoreCorruptFiles": "true", "ignoreMissingFiles": "true"}
    rows = checked(spark, tmp_path, file_format, half, gone, empty, **skipping)
    reasons = {told(row)["file"].rpartition("/")[2]: told(row)["reason"] for row in rows}
    # Our own reader of Parquet tells of what it skips.
    assert list(reasons) == ([half] if file_format == "orc" else []) + [gone, empty]
    if file_format == "orc":
        assert "It is skipped, as ignoreCorruptFiles says" in reasons[half]
    assert "it is empty" in reasons[empty]


@pytest.mark.long
def test_files_without_a_schema_must_be_there(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("rubbish", encoding="utf-8")
    assert checked(spark, tmp_path, "json", "a.json") == []
    with pytest.raises(SourceError, match=r"b\.json: it is not there any more"):
        checked(spark, tmp_path, "json", "a.json", "b.json")


# Columns of a file, and as what they are said to be read without a loss.
WIDENED: Final = {
    "tiny_long": ("TINYINT", "-128", "BIGINT"),
    "short_int": ("SMALLINT", "-32768", "INT"),
    "int_long": ("INT", "-2147483648", "BIGINT"),
    "int_double": ("INT", "2147483647", "DOUBLE"),
    "short_double": ("SMALLINT", "-32768", "DOUBLE"),
    "float_double": ("FLOAT", "1.5", "DOUBLE"),
    "decimal": ("DECIMAL(5,2)", "-123.45", "DECIMAL(12,4)"),
    "large_decimal": ("DECIMAL(18,2)", "1234567890123456.78", "DECIMAL(38,4)"),
    "short_text": ("STRING", "'ä'", "STRING"),
    "inner": ("STRUCT<b: INT, a: STRING>", "named_struct('b', 1, 'a', 'x')", "STRUCT<a: STRING>"),
    "list": ("ARRAY<STRUCT<a: INT>>", "array(named_struct('a', 1))", "ARRAY<STRUCT<a: BIGINT>>"),
    "map": ("MAP<STRING, FLOAT>", "map('k', 1.5)", "MAP<STRING, DOUBLE>"),
}


@pytest.mark.long
@BOTH
def test_what_fits_is_read_without_a_change(
    spark: SparkSession, tmp_path: Path, file_format: str
) -> None:
    made = ", ".join(
        f"CAST({value} AS {found}) AS {name}" for name, (found, value, _) in WIDENED.items()
    )
    frame = spark.sql(f"SELECT {made}")
    folder = str(tmp_path / "in")
    frame.coalesce(1).write.format(file_format).save(folder)
    read = T.StructType.fromDDL(", ".join(f"{name} {t}" for name, (_, _, t) in WIDENED.items()))
    assert isinstance(read, T.StructType)

    (path,) = (tmp_path / "in").glob("part-*")
    found = FileSchemas(spark, file_format).read(f"file://{path}")
    assert found is not None
    assert file_misfits(found, read, file_format, frozenset()) == FileMisfits()
    (row,) = spark.read.format(file_format).schema(read).load(folder).collect()
    (written,) = frame.collect()
    assert row.inner.asDict() == {"a": "x"}
    for name in WIDENED.keys() - {"inner"}:
        assert row[name] == written[name], name

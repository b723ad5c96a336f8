"""Files of another shape in a running job: it tells of them or ends, and goes on without a loss."""

import gzip
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest
from pyarrow import parquet as pq
from pyspark.sql import SparkSession

from processor_runtime.spark.sources import SourceError
from tests.processor_runtime.conftest import spark as _spark
from tests.processor_runtime.spark.finished_job import job
from tests.processor_runtime.written_rows import written

pytestmark = [pytest.mark.spark, pytest.mark.faults]

spark = _spark

STREAM: Final = """\
name: payments
schema: user STRING, amount BIGINT, ts TIMESTAMP
event_time_column: ts
allowed_delay_ms: 0
"""
RULE: Final = """\
id: paid
stream: payments
pattern: {steps: [{name: paid, where: amount > 0}]}
key_by: [user]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {"stream": STREAM, "paid": RULE}.items():
        path = tmp_path / "rules" / f"{name}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (tmp_path / "in").mkdir()
    return tmp_path


def at(minute: int) -> datetime:
    return datetime(2026, 5, 1, 10, minute, tzinfo=UTC)


def write(folder: Path, name: str, **columns: Any) -> Path:
    path = folder / "in" / name
    aside = folder / "aside"
    pq.write_table(pa.table({key: pa.array([value]) for key, value in columns.items()}), aside)
    return aside.rename(path)


def run(spark: SparkSession, folder: Path, file_format: str = "parquet", **options: Any) -> None:
    source = {"format": file_format, "path": str(folder / "in"), "options": options}
    job(spark, folder, stream="payments", source=source).run()


def amounts(folder: Path) -> list[Any]:
    """Return the amounts that were matched; the newest event waits for one after it."""
    rows = [row for row in written(folder) if row["kind"] == "match"]
    return [row["events"]["paid"][0]["amount"] for row in rows]


def told(folder: Path) -> list[str]:
    rows = [row for row in written(folder) if row["kind"] == "error"]
    return [row["events"]["file"].rpartition("/")[2] for row in rows]


@pytest.mark.nightly
def test_a_job_outlives_every_change_of_its_parquet_files(
    spark: SparkSession, folder: Path
) -> None:
    write(folder, "1.parquet", user="ana", amount=1, ts=at(1))
    run(spark, folder)

    # A file without a column goes on, and is told of; the order of columns is none of its affairs.
    write(folder, "2.parquet", ts=at(2), user="ana")
    write(folder, "3.parquet", ts=at(3), more=1, amount=3, user="ana")
    run(spark, folder)
    assert told(folder) == ["2.parquet"]

    # A file of another type ends the job, at every start, until it is mended.
    write(folder, "4.parquet", user="ana", amount="4", ts=at(4))
    for _ in range(2):
        with pytest.raises(SourceError, match=r"4\.parquet: its column 'amount' is STRING"):
            run(spark, folder)
    write(folder, "4.parquet", user="ana", amount=4, ts=at(4))
    run(spark, folder)

    # What cannot be read at all, or is gone, ends it, too, or is skipped and told of.
    broken = folder / "in" / "5.parquet"
    broken.write_bytes(b"PAR1 half of a file")
    with pytest.raises(SourceError, match=r"5\.parquet: .*is not a Parquet file"):
        run(spark, folder)
    run(spark, folder, ignoreCorruptFiles="true")
    gone = write(folder, "6.parquet", user="ana", amount=6.5, ts=at(6))
    with pytest.raises(SourceError, match=r"6\.parquet: its column 'amount' is DOUBLE"):
        run(spark, folder)
    gone.unlink()
    with pytest.raises(SourceError, match=r"6\.parquet: it is not there any more"):
        run(spark, folder)
    for minute in (7, 8):
        write(folder, f"{minute}.parquet", user="ana", amount=minute, ts=at(minute))
    run(spark, folder, ignoreMissingFiles="true")

    assert told(folder) == ["2.parquet", "5.parquet", "6.parquet"]
    assert amounts(folder) == [1, 3, 4, 7]


def lines(*amounts: int) -> Iterator[str]:
    for amount in amounts:
        yield f"ana,{amount},2026-05-01T10:0{amount}:00Z\n"


@pytest.mark.nightly
def test_a_job_names_a_csv_file_that_it_cannot_read(spark: SparkSession, folder: Path) -> None:
    csv = folder / "in" / "1.csv"
    csv.write_text("user,user,ts\nana,1,2026-05-01T10:01:00Z\n", encoding="utf-8")
    with pytest.raises(SourceError, match=r"1\.csv: .*'user'"):
        run(spark, folder, "csv", header=True)
    # Columns are found by their names.
    csv.write_text("amount,user,ts\n1,ana,2026-05-01T10:01:00Z\n", encoding="utf-8")
    run(spark, folder, "csv", header=True)

    cut = gzip.compress("".join(["user,amount,ts\n", *lines(2, 3, 4)]).encode())
    packed = folder / "in" / "2.csv.gz"
    packed.write_bytes(cut[:-9])
    with pytest.raises(SourceError, match=r"2\.csv\.gz: Truncated compressed stream"):
        run(spark, folder, "csv", header=True)
    packed.write_bytes(cut)
    run(spark, folder, "csv", header=True)
    assert amounts(folder) == [1, 2, 3]

"""Columns that directories give, in files of CSV and of Parquet."""

from datetime import date
from pathlib import Path
from typing import Final

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import DataFrame, SparkSession

from processor_runtime.job_file.source import Source
from processor_runtime.sources.directories import directory_texts
from tests.processor_runtime.sources.streams import events_of, opened, stream

DDL: Final = "amount BIGINT, day DATE, hour STRING, ts BIGINT"


def test_the_names_and_values_of_directories_are_found() -> None:
    assert directory_texts("file:/a/b.csv") == directory_texts("file:/a/x=1.csv") == {}
    assert directory_texts(
        "s3a://b/Day=2026-05-01/n%3D=a%2Fb=c/x=__HIVE_DEFAULT_PARTITION__/f"
    ) == {
        "day": "2026-05-01",
        "n=": "a/b=c",
        "x": None,
    }


@pytest.mark.spark
@pytest.mark.long
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_they_are_columns_of_the_stream(spark: SparkSession, tmp_path: Path, form: str) -> None:
    for hour in ("05", "06"):
        folder = tmp_path / "in" / "day=2026-05-01" / f"hour={hour}"
        folder.mkdir(parents=True)
        if form == "csv":
            (folder / "a.csv").write_text("amount,ts\n5,1000\n", encoding="utf-8")
        else:
            parquet.write_table(pa.table({"amount": [5], "ts": [1000]}), folder / "a.parquet")
    options = {"header": "true"} if form == "csv" else {}
    source = Source.model_validate(
        {"format": form, "path": str(tmp_path / "in"), "options": options}
    )
    events = opened(spark, source, stream(DDL))
    seen: list[tuple[object, ...]] = []

    def collect(batch: DataFrame, _batch_id: int) -> None:
        names = ("amount", "day", "hour", "ts")
        seen.extend(tuple(e[name] for name in names) for e in events_of(batch, events.read))

    query = events.frame.writeStream.foreachBatch(collect).trigger(availableNow=True).start()
    query.awaitTermination()
    assert sorted(seen, key=str) == [(5, date(2026, 5, 1), hour, 1000) for hour in ("05", "06")]

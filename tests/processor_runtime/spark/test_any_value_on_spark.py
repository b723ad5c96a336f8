"""Values that Spark reads and Python cannot hold, through whole jobs: from files, to files."""

import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.letters import sequence
from tests.processor_runtime.rule_documents import put_events, put_job, rule_of, stream_of
from tests.processor_runtime.spark.finished_job import job
from tests.processor_runtime.written_rows import Row, written

BEGIN_MS = 1_767_225_600_000
YEAR_10000_US = 253_402_300_800_000_000


def publish(folder: Path, schema: str) -> None:
    rule = rule_of("ab", "letters", sequence("ab"), key_by=["user"])
    put_job(folder, stream_of("letters", schema), rule)


def of_kind(rows: list[Row], kind: str) -> list[Row]:
    return [row for row in rows if row["kind"] == kind]


@pytest.mark.nightly
def test_microseconds_in_a_column_of_milliseconds_become_errors_and_the_job_goes_on(
    spark: SparkSession, tmp_path: Path
) -> None:
    publish(tmp_path, "user STRING, name STRING, seen TIMESTAMP, ts TIMESTAMP")
    in_us = BEGIN_MS * 1_000
    events: list[dict[str, Any]] = [
        {"user": "ana", "name": "a", "ts": BEGIN_MS},
        {"user": "bob", "name": "a", "ts": in_us},
        {"user": "cy", "name": "a", "seen": in_us, "ts": BEGIN_MS + 1},
        {"user": "ana", "name": "b", "ts": BEGIN_MS + 2},
        {"user": "dan", "name": "x", "ts": BEGIN_MS + 3},
    ]
    put_events(tmp_path / "in", [[event] for event in events])
    for _ in range(2):
        job(spark, tmp_path, stream="letters").run()

    rows = written(tmp_path)
    (found,) = of_kind(rows, "match")
    assert found["key"] == ["ana"]
    told = {row["events"]["user"]: row for row in of_kind(rows, "error")}
    assert told.keys() == {"bob", "cy"}
    assert told["bob"]["events"]["ts"] == "+57971-02-25T00:00:00.000Z"
    assert told["bob"]["error"]["reason"] == "out-of-range"
    assert told["bob"]["error"]["message"].startswith("ts: not within the years 1 to 9999")
    assert told["cy"]["error"]["message"].startswith("seen: not within the years 1 to 9999")


@pytest.mark.long
@pytest.mark.nightly
def test_parquet_files_may_hold_anything(spark: SparkSession, tmp_path: Path) -> None:
    publish(
        tmp_path,
        "user STRING, name STRING, t TIMESTAMP, n TIMESTAMP_NTZ, d DATE, s STRING, b BINARY, "
        "x DOUBLE, e DECIMAL(38, 0), l ARRAY<STRING>, m MAP<STRING, TIMESTAMP>, ts BIGINT",
    )
    extremes = [0, YEAR_10000_US, -(2**62), None, 0, 0]
    texts = pa.array([b"\xff", b"\0", None, b"ok", b"\xed\xa0\x80", b""], pa.binary())
    texts = texts.view(pa.string())
    count = len(extremes)
    users = pa.array([f"u{number}" for number in range(count)])
    for place, name in enumerate("ab"):
        moments = pa.array(extremes, pa.timestamp("us", tz="UTC"))
        columns = {
            "user": users,
            "name": pa.array([name] * count),
            "t": moments,
            "n": pa.array(extremes, pa.timestamp("us")),
            "d": pa.array([0, 0, 0, None, 2**31 - 1, 0], pa.date32()),
            "s": texts,
            "b": pa.array([b"\xff"] * count),
            "x": pa.array([float("nan"), float("inf"), None, -0.0, 1e308, 0.0]),
            "e": pa.array([Decimal(10**38 - 1)] * count, pa.decimal128(38, 0)),
            "l": pa.ListArray.from_arrays(range(count + 1), texts),
            "m": pa.MapArray.from_arrays(range(count + 1), users, moments),
            "ts": pa.array(range(BEGIN_MS + place * count, BEGIN_MS + (place + 1) * count)),
        }
        path = tmp_path / "in" / f"{place}.parquet"
        pq.write_table(pa.table(columns), path)
        os.utime(path, (place, place))
    source = {"format": "parquet", "path": str(tmp_path / "in")}

    job(spark, tmp_path, stream="letters", source=source).run()

    rows = written(tmp_path)
    found = {row["key"][0]: row["events"]["a"][0] for row in of_kind(rows, "match")}
    # The last event lets no time pass, so that its user's match is not found yet.
    assert found.keys() == {"u0", "u3"}
    assert (found["u0"]["s"], found["u0"]["b"], found["u0"]["x"]) == ("�", "_w==", "NaN")
    assert found["u0"]["e"] == str(10**38 - 1)
    assert found["u3"]["l"] == ["ok"]
    errors = of_kind(rows, "error")
    assert [row["error"]["reason"] for row in errors] == ["out-of-range"] * 6
    assert {row["events"]["user"]: row["error"]["message"].partition(":")[0] for row in errors} == {
        "u1": "t, n, m",
        "u2": "t, n, m",
        "u4": "d",
    }

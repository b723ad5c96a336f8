"""Files that reach the workers while a job runs."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark import SparkFiles
from pyspark.sql import SparkSession

from processor_runtime.spark.shipped_files import ShippedFiles


def content_at_worker(spark: SparkSession, name: str) -> bytes:
    def read(_number: int) -> bytes:
        return Path(SparkFiles.get(name)).read_bytes()

    return spark.sparkContext.parallelize([0], 1).map(read).collect()[0]


def listed(spark: SparkSession) -> str:
    return str(spark.sparkContext._jsc.sc().allAddedFiles().toString())


def one(name: str, content: bytes = b"x") -> dict[str, Callable[[], bytes]]:
    return {name: lambda: content}


def test_a_worker_reads_what_was_shipped_last(spark: SparkSession, tmp_path: Path) -> None:
    files = ShippedFiles(spark, tmp_path)
    for number in range(3):
        files.ship(one(f"worker-{number}.json", b"%d" % number))
        assert content_at_worker(spark, f"worker-{number}.json") == b"%d" % number


@pytest.mark.long
def test_only_the_newest_files_go_with_every_task(spark: SparkSession, tmp_path: Path) -> None:
    files = ShippedFiles(spark, tmp_path)
    for number in range(6):
        files.ship(one(f"old-{number}.json"))
    assert [number for number in range(6) if f"old-{number}.json" in listed(spark)] == [4, 5]


@pytest.mark.long
def test_a_file_that_was_withdrawn_can_come_back(spark: SparkSession, tmp_path: Path) -> None:
    files = ShippedFiles(spark, tmp_path)
    for name in ("a.json", "b.json", "c.json", "d.json", "a.json"):
        files.ship(one(name, name.encode()))
    assert content_at_worker(spark, "a.json") == b"a.json"
    assert "/a.json" in listed(spark)


def test_what_batches_share_stays_and_is_read_once(spark: SparkSession, tmp_path: Path) -> None:
    files = ShippedFiles(spark, tmp_path)
    read: list[str] = []

    def shared() -> bytes:
        read.append("shared")
        return b"shared"

    for number in range(4):
        files.ship(one(f"batch-{number}.json") | {"shared.json": shared})
        assert content_at_worker(spark, "shared.json") == b"shared"
    assert read == ["shared"]
    for number in range(4, 6):
        files.ship(one(f"batch-{number}.json"))
    assert "shared.json" not in listed(spark)

"""A job on a cluster of Spark's, some of which dies, finds what it finds on one machine."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from tests.processor_runtime.resilience.job_process import (
    SMALL_SPARK,
    JobProcess,
    job_document,
    write_events,
)
from tests.processor_runtime.resilience.spark_cluster import (
    WORKERS,
    Cluster,
    can_import,
    cluster,
    python_without_percept,
)
from tests.processor_runtime.resilience.ssh_auth_stream import AT_FIRST, STREAM, arriving
from tests.processor_runtime.rule_documents import put_job
from tests.processor_runtime.spark.finished_job import job
from tests.processor_runtime.written_rows import Row, written

pytestmark = [pytest.mark.spark, pytest.mark.faults]

BATCHES = 6


@pytest.mark.nightly
def test_an_executor_killed_in_a_batch_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    python = python_without_percept(tmp_path / "executors")
    assert can_import(python, "polars")
    assert not can_import(python, "cep")
    assert not can_import(python, "processor_runtime")
    (tmp_path / "cluster").mkdir()
    put_job(tmp_path, STREAM, *AT_FIRST.values())
    *files, last = arriving(Random("cluster"))  # noqa: S311 - any order of arrival, but the same
    for number in range(BATCHES):
        part = files[number * len(files) // BATCHES : (number + 1) * len(files) // BATCHES]
        write_events(tmp_path, f"{number}", [event for events in part for event in events])
    write_events(tmp_path, f"{BATCHES}", last)
    with cluster(tmp_path / "cluster") as nodes:
        _run(tmp_path, nodes, python)
    rows = written(tmp_path)
    assert len(rows) > 1_000
    (tmp_path / "out").rename(tmp_path / "out-of-cluster")
    checkpoint = str(tmp_path / "checkpoint-of-one-machine")
    job(spark, tmp_path, stream="ssh_auth", checkpoint=checkpoint).run()
    assert _sorted(rows) == _sorted(written(tmp_path))


def _run(folder: Path, nodes: Cluster, python: Path) -> None:
    """Run the job on the cluster and kill an executor twice."""
    settings = {
        "spark.master": nodes.url,
        "spark.pyspark.python": str(python),
        "spark.executor.memory": "600m",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    trigger, spark = {"available_now": True}, {**SMALL_SPARK, **settings}
    document = job_document(stream="ssh_auth", trigger=trigger, spark=spark)
    with JobProcess(folder, document) as running:
        pinned = folder / "checkpoint/epochs/1"
        running.wait_until(lambda: pinned.exists() and len(nodes.executors()) == WORKERS)
        killed = _killed_executor(nodes)
        running.wait_until(_another_than(killed, nodes))
        writing = folder / "out/_percept/writing"
        running.wait_until(lambda: writing.is_dir() and any(writing.iterdir()))
        _killed_executor(nodes)
        assert running.wait() == 0, running.text


def _killed_executor(nodes: Cluster) -> int:
    executor = nodes.executors()[0]
    os.kill(executor, signal.SIGKILL)
    return executor


def _another_than(killed: int, nodes: Cluster) -> Callable[[], bool]:
    def has_come() -> bool:
        executors = nodes.executors()
        return len(executors) == WORKERS and killed not in executors

    return has_come


def _sorted(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))

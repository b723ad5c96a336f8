"""Runs a job file from end to end."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from processor_runtime.spark.job import StreamingJob
from processor_runtime.spark.micro_batches import BatchDone
from tests.processor_runtime.job_file.job_files import loaded
from tests.processor_runtime.written_rows import KINDS


def job(
    spark: SparkSession,
    folder: Path,
    on_batch: Callable[[BatchDone], None] = lambda _done: None,
    **keys: Any,
) -> StreamingJob:
    """Return a job from `folder/in`, by the rules in `folder/rules`, to `folder/out`."""
    document = {
        "name": "test",
        "source": {"format": "json", "path": str(folder / "in"), "max_files_per_batch": 1},
        "discoverer": {"type": "directory", "path": str(folder / "rules")},
        "outputs": [{"type": "json", "path": str(folder / "out"), "kinds": KINDS}],
        "checkpoint": str(folder / "checkpoint"),
        "trigger": {"available_now": True},
        "shards": 2,
    }
    return StreamingJob(spark, loaded(folder, document | keys), {}, on_batch)

"""A directory in which a benchmark runs a streaming job: source, rules, checkpoint and output."""

import json
import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
from pyspark.sql import SparkSession

from cep import Pattern
from processor_runtime.job_file.loading import load_job_file
from processor_runtime.spark.job import StreamingJob
from processor_runtime.spark.micro_batches import BatchDone

DDL = "ts BIGINT, user BIGINT, action STRING, amount BIGINT, shop BIGINT"
STREAM = {"name": "payments", "schema": DDL, "event_time_column": "ts"}
BEGIN_MS = 1_700_000_000_000


class Workplace:
    """A directory with the source, the rules, the checkpoint and the output of one job."""

    def __init__(
        self, root: Path, shards: int, discoverer: Mapping[str, Any] | None = None
    ) -> None:
        self.root = root
        for name in ("in", "rules"):
            (root / name).mkdir(parents=True)
        directory = {"type": "directory", "path": str(root / "rules"), "interval_seconds": 0.2}
        (root / "job.yaml").write_text(
            json.dumps(
                {
                    "name": "bench",
                    "stream": "payments",
                    "source": {
                        "format": "parquet",
                        "path": str(root / "in"),
                        "max_files_per_batch": 1,
                    },
                    "discoverer": dict(discoverer or directory),
                    "outputs": [{"type": "json", "path": str(root / "out"), "kinds": ["match"]}],
                    "checkpoint": str(root / "checkpoint"),
                    "shards": shards,
                    "trigger": {"processing_time": "0 ms"},
                }
            )
        )

    def publish(self, rules: Mapping[str, Pattern]) -> None:
        """Write the rules atomically to the default directory of the job."""
        documents = [self._document(name, pattern) for name, pattern in rules.items()]
        aside = self.root / "rules.tmp"
        aside.write_text(json.dumps([STREAM, *documents]))
        aside.rename(self.root / "rules" / "all.json")

    def _document(self, name: str, pattern: Pattern) -> dict[str, Any]:
        written = pattern.to_document()
        last = written["steps"][-1]["name"]
        return {
            "id": name,
            "stream": "payments",
            "pattern": written,
            "key_by": ["user"],
            "select": {"user": f"{last}.user", "amount": f"{last}.amount"},
        }

    def put(self, number: int, events: pl.DataFrame) -> None:
        """Add a file to the source, to be read after those of lower numbers."""
        aside = self.root / "file.tmp"
        events.with_columns(pl.col("ts") + BEGIN_MS).write_parquet(aside)
        # Spark reads files in the order of their times.
        written_ns = aside.stat().st_mtime_ns + number * 1_000_000
        os.utime(aside, ns=(written_ns, written_ns))
        aside.rename(self.root / "in" / f"{number:05}.parquet")

    def run(self, spark: SparkSession, on_batch: Callable[[StreamingJob, BatchDone], None]) -> None:
        """Run the job until `on_batch` stops it."""
        job_file = load_job_file(self.root / "job.yaml", os.environ)
        job = StreamingJob(spark, job_file, os.environ)
        job.on_batch = lambda done: on_batch(job, done)
        job.run()


def stop(job: StreamingJob) -> None:
    """End a job from within its batch."""
    threading.Thread(target=job.stop, daemon=True).start()

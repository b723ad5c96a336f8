"""A directory in which a benchmark runs a streaming job: source, rules, checkpoint and output."""

import json
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import polars as pl
from pyspark.sql import SparkSession

from percept import Pattern
from processor_runtime.job_file.loading import load_job_file
from processor_runtime.spark.job import StreamingJob
from processor_runtime.spark.micro_batches import BatchDone

COLUMNS = {
    "ts": "BIGINT",
    "user": "BIGINT",
    "action": "STRING",
    "amount": "BIGINT",
    "shop": "BIGINT",
}
DDL = ", ".join(f"{name} {sql_type}" for name, sql_type in COLUMNS.items())
STREAM = {"name": "payments", "schema": DDL, "event_time_column": "ts"}
BEGIN_MS = 1_700_000_000_000


@dataclass(frozen=True, slots=True)
class Source:
    """What events look like: names and SQL types of columns, lateness, and the format of files.

    `elsewhere`: what a job file says of a source of another kind, if it is one.
    """

    columns: Mapping[str, str] = field(default_factory=lambda: COLUMNS)
    delay_ms: int = 0
    format: Literal["parquet", "csv", "json"] = "parquet"
    elsewhere: Mapping[str, Any] | None = None

    def ddl(self) -> str:
        """Return the columns as Spark writes a schema."""
        return ", ".join(f"{name} {sql_type}" for name, sql_type in self.columns.items())

    def stream(self) -> dict[str, Any]:
        """Return the definition of the stream; events of one time are ordered by `id`, if any."""
        return STREAM | {
            "schema": self.ddl(),
            "allowed_delay_ms": self.delay_ms,
            "order_by": [name for name in ("id",) if name in self.columns],
        }


@dataclass(frozen=True, slots=True)
class Batches:
    """When batches begin, as in a job file, and how many files one reads at most."""

    trigger: str = "0 ms"
    files: int = 1


class Workplace:
    """A directory with the source, the rules, the checkpoint and the output of one job."""

    def __init__(
        self,
        root: Path,
        shards: int,
        *,
        discoverer: Mapping[str, Any] | None = None,
        source: Source | None = None,
        batches: Batches | None = None,
    ) -> None:
        self.root = root
        self.source = source or Source()
        self.batches = batches = batches or Batches()
        for name in ("in", "rules"):
            (root / name).mkdir(parents=True)
        directory = {"type": "directory", "path": str(root / "rules"), "interval_seconds": 0.2}
        (root / "job.yaml").write_text(
            json.dumps(
                {
                    "name": "bench",
                    "stream": "payments",
                    "source": self.source.elsewhere
                    or {
                        "format": self.source.format,
                        "path": str(root / "in"),
                        "max_files_per_batch": batches.files,
                    },
                    "discoverer": dict(discoverer or directory),
                    "outputs": [{"type": "json", "path": str(root / "out"), "kinds": ["match"]}],
                    "checkpoint": str(root / "checkpoint"),
                    "shards": shards,
                    # Events of a day come again and again, with times of centuries to come.
                    "time": {"max_future_skew": None},
                    "trigger": {"processing_time": batches.trigger},
                }
            )
        )

    def publish(self, rules: Mapping[str, Pattern]) -> None:
        """Write rules with the key `user` atomically to the default directory of the job."""
        self.publish_keyed({name: (pattern, ("user",)) for name, pattern in rules.items()})

    def publish_keyed(self, rules: Mapping[str, tuple[Pattern, Sequence[str]]]) -> None:
        """Write rules and their keys atomically to the default directory of the job."""
        documents = [self._document(name, *rule) for name, rule in rules.items()]
        aside = self.root / "rules.tmp"
        aside.write_text(json.dumps([self.source.stream(), *documents]))
        aside.rename(self.root / "rules" / "all.json")

    def _document(self, name: str, pattern: Pattern, key_by: Sequence[str]) -> dict[str, Any]:
        written = pattern.to_document()
        first = written["steps"][0]["name"]
        return {
            "id": name,
            "stream": "payments",
            "pattern": written,
            "key_by": list(key_by),
            "select": {"time": f"{first}.ts", "key": f"{first}.{key_by[0]}"},
        }

    def put(self, number: int, events: pl.DataFrame, *, shift_ms: int = BEGIN_MS) -> None:
        """Add a file to the source, to be read after those of lower numbers; times are shifted."""
        aside = self.root / "file.tmp"
        shifted = events.with_columns(pl.col("ts") + shift_ms)
        if self.source.format == "csv":
            shifted.write_csv(aside, include_header=False)
        elif self.source.format == "json":
            shifted.write_ndjson(aside)
        else:
            shifted.write_parquet(aside)
        # Spark reads files in the order of their times.
        written_ns = aside.stat().st_mtime_ns + number * 1_000_000
        os.utime(aside, ns=(written_ns, written_ns))
        aside.rename(self.root / "in" / f"{number:05}.{self.source.format}")

    def run(self, spark: SparkSession, on_batch: Callable[[StreamingJob, BatchDone], None]) -> None:
        """Run the job until `on_batch` stops it."""
        job_file = load_job_file(self.root / "job.yaml", os.environ)
        job = StreamingJob(spark, job_file, os.environ)
        job.on_batch = lambda done: on_batch(job, done)
        job.run()


def stop(job: StreamingJob) -> None:
    """End a job from within its batch."""
    threading.Thread(target=job.stop, daemon=True).start()

"""Whether the heap of the driver's JVM grows with the number of batches.

    python -m benchmarks.heap --batches 1000

Each batch reads one file of 100 events; the heap is read after a full collection. Spark keeps what
its pages would show, with pages or without.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

from benchmarks.core import payments, rule
from benchmarks.workplace import Workplace, stop
from processor_runtime.spark.job import StreamingJob
from processor_runtime.spark.micro_batches import BatchDone
from processor_runtime.spark.session import job_session

ROWS: Final = 100


def heap_megabytes(spark: SparkSession) -> float:
    """Return what a full collection leaves in the heap, in MB."""
    jvm: Any = spark._jvm  # noqa: SLF001 - no public way to it
    jvm.System.gc()
    runtime = jvm.java.lang.Runtime.getRuntime()
    return float(runtime.totalMemory() - runtime.freeMemory()) / 1e6


def main() -> None:
    """Run a job of many small batches and print the heap after every tenth part."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batches", type=int, default=1_000)
    options = parser.parse_args()
    spark = job_session("heap", {"spark.master": "local[2]", "spark.ui.enabled": "false"})
    spark.sparkContext.setLogLevel("OFF")
    events = payments(ROWS * (options.batches + 1))
    done = 0

    def on_batch(job: StreamingJob, _batch: BatchDone) -> None:
        nonlocal done
        done += 1
        place.put(done, events[done * ROWS : (done + 1) * ROWS])
        if done % (options.batches // 10) == 0:
            print(f"{done:>6,} batches  {heap_megabytes(spark):>6.0f} MB", flush=True)
        if done == options.batches:
            stop(job)

    with tempfile.TemporaryDirectory(prefix="percept-bench-") as directory:
        place = Workplace(Path(directory, "job"), shards=2)
        place.publish({"r": rule(250)})
        place.put(0, events[:ROWS])
        place.run(spark, on_batch)
    spark.stop()


if __name__ == "__main__":
    main()

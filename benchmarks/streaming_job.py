"""The streaming job on local Spark: both stages, state, checkpoint and a file output included.

The workload is that of `core.py`: payment events of 10,000 users, rules of three steps in 600 s.
Events are in Parquet files, one file per batch, read as fast as the job can. Rates are those of
whole batches after the first few, when JVM and workers are warm; the ratio is to Spark alone, which
hands the same files to a Python function that drops them.

    python -m benchmarks.streaming_job                    # everything
    python -m benchmarks.streaming_job throughput --rules 1 10
    python -m benchmarks.streaming_job idle keys publish
"""

import argparse
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl
from pyspark.sql import SparkSession

from benchmarks.core import SHOPS, payments, rule
from benchmarks.floor import floor_seconds
from benchmarks.peers.cpu_time import cpu_seconds
from benchmarks.publish_to_match import publish_to_match
from benchmarks.recording import record
from benchmarks.workplace import Workplace, stop
from percept import Pattern
from processor_runtime.spark.job import StreamingJob
from processor_runtime.spark.micro_batches import BatchDone
from processor_runtime.spark.session import job_session

WARM_UP_BATCHES = 3
MOST_WIDE_RULES = 100


def rules_of(count: int) -> dict[str, Pattern]:
    """Return `count` rules: up to a hundred on all events, more on one shop each."""
    if count == 1:
        return {"r": rule(250)}
    if count <= MOST_WIDE_RULES:
        return {f"r{number}": rule(450 * (number + 1) // count) for number in range(count)}
    return {
        f"r{number}": rule(250, only=f" AND shop = {number % SHOPS}") for number in range(count)
    }


def throughput(spark: SparkSession, rules: int, rows: int, batches: int, shards: int) -> None:
    """Print events per second for a number of rules, and in parts of what Spark alone does."""
    with tempfile.TemporaryDirectory(prefix="percept-bench-") as directory:
        place = Workplace(Path(directory, "job"), shards)
        place.publish(rules_of(rules))
        # Each user stays in one shop, so that rules for one shop also find matches.
        events = payments(rows * batches).with_columns(shop=pl.col("user") % SHOPS)
        for number in range(batches):
            place.put(number, events[number * rows : (number + 1) * rows])
        moments: list[float] = []
        last: list[BatchDone] = []

        def on_batch(job: StreamingJob, done: BatchDone) -> None:
            moments.append(time.perf_counter())
            last[:] = [done]
            if len(moments) == batches:
                stop(job)

        place.run(spark, on_batch)
        floor = median(floor_seconds(spark, place, batches)[WARM_UP_BATCHES:])
        seconds = [later - earlier for earlier, later in pairwise(moments[WARM_UP_BATCHES:])]
        status = last[0].status
        print(
            f"{rules:>6} rules  {rows / median(seconds):>9,.0f} events/s  "
            f"{median(seconds):>6.2f} s a batch of {rows:,}  "
            f"{floor / median(seconds):>5.0%} of what Spark alone does ({floor:.2f} s)  "
            f"{status.totals.matches:,} matches  {status.state_bytes / 1e6:.1f} MB of state",
            flush=True,
        )


def idle(spark: SparkSession, shards: int, batches: int = 24) -> None:
    """Print how long a batch with one event takes."""
    with tempfile.TemporaryDirectory(prefix="percept-bench-") as directory:
        place = Workplace(Path(directory, "job"), shards)
        place.publish(rules_of(1))
        events = payments(batches)
        for number in range(batches):
            place.put(number, events[number : number + 1])
        durations: list[int] = []
        ended: list[tuple[float, float]] = []

        def on_batch(job: StreamingJob, done: BatchDone) -> None:
            durations.append(done.status.batch_duration_ms or 0)
            ended.append((time.perf_counter(), cpu_seconds()))
            if len(durations) == batches:
                stop(job)

        place.run(spark, on_batch)
        warm = list(pairwise(ended[batches // 2 :]))
        print(
            f"  idle  a batch of one event {median(durations[batches // 2 :]):,.0f} ms, "
            f"{1_000 * median(later[0] - earlier[0] for earlier, later in warm):,.0f} ms from one "
            f"to the next, {median(later[1] - earlier[1] for earlier, later in warm):.2f} s of CPU",
            flush=True,
        )


def live_keys(spark: SparkSession, shards: int, keys: int, rows: int, results: Path | None) -> None:
    """Print batch time and state with many live keys: each has begun one partial match."""
    with tempfile.TemporaryDirectory(prefix="percept-bench-") as directory:
        pattern = Pattern.begin("fail").where("action = 'fail'").followed_by("login")
        pattern = pattern.where("action = 'login'").within("7 days")
        place = Workplace(Path(directory, "job"), shards)
        place.publish({"r": pattern})
        filling = -(-keys // rows)
        numbers = pl.int_range(keys, eager=True)
        everything = pl.DataFrame(
            {
                "ts": numbers,
                "user": numbers,
                "action": "fail",
                "amount": numbers % 500,
                "shop": numbers % SHOPS,
            }
        )
        for number in range(filling):
            place.put(number, everything[number * rows : (number + 1) * rows])
        small = 10_000
        measured = 8
        probes = 16 + measured  # Java compiles what the first ones run
        for number in range(probes):
            probe = everything.sample(small, seed=number).with_columns(
                ts=pl.int_range(small) + keys + number * small, action=pl.lit("login")
            )
            place.put(filling + number, probe)
        durations: list[int] = []
        spent: list[float] = []
        last: list[BatchDone] = []

        def on_batch(job: StreamingJob, done: BatchDone) -> None:
            durations.append(done.status.batch_duration_ms or 0)
            spent.append(cpu_seconds())
            if done.status.partial_matches >= keys * 0.95:
                last[:] = [done]
            if len(durations) == filling + probes:
                stop(job)

        place.run(spark, on_batch)
        status = last[0].status
        of_cpu = median(later - earlier for earlier, later in pairwise(spent[-measured - 1 :]))
        print(
            f"  keys  {status.partial_matches:,} partial matches, "
            f"{status.state_bytes / max(status.partial_matches, 1):.0f} bytes each "
            f"({status.state_bytes / 1e6:.0f} MB); a batch of {small:,} events on random keys "
            f"{median(durations[-measured:]):,.0f} ms, {of_cpu:.2f} s of CPU",
            flush=True,
        )
        record(results, part="keys", keys=keys, batch_ms=median(durations[-measured:]))


def main() -> None:
    """Run the selected parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help="throughput, idle, publish, keys; all by default")
    parser.add_argument("--rules", type=int, nargs="+", default=[1, 10, 100, 1000])
    parser.add_argument("--rows", type=int, default=400_000, help="events of a batch")
    parser.add_argument("--batches", type=int, default=9)
    parser.add_argument("--shards", type=int, default=2)
    parser.add_argument("--keys", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--record", type=Path, help="a file of JSON lines, for the plots")
    options = parser.parse_args()
    parts = options.parts or ["throughput", "idle", "publish", "keys"]
    settings: dict[str, Any] = {"spark.master": f"local[{options.cores}]"}
    spark = job_session(
        "percept benchmark", settings | {"spark.ui.enabled": "false"}, java_has_rows=False
    )
    # A job that is stopped is an error to Spark; what fails is raised here, too.
    spark.sparkContext.setLogLevel("OFF")
    if "throughput" in parts:
        for count in options.rules:
            throughput(spark, count, options.rows, options.batches, options.shards)
    if "idle" in parts:
        idle(spark, options.shards)
    if "publish" in parts:
        publish_to_match(spark, options.shards)
    if "keys" in parts:
        for keys in options.keys:
            live_keys(spark, options.shards, keys, options.rows, options.record)
    spark.stop()


if __name__ == "__main__":
    main()

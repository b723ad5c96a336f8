"""From the arrival of an event until its match is written, at a steady rate.

    a file every 0.2 s ──► batch on a trigger ──► watermark passes the event ──► file of matches

An event has arrived when its file can be seen; its match, which it is the last event of, is there
when the batch has been written. Times of events are those of the clock.

    python -m benchmarks.latency
    python -m benchmarks.latency --rate 10000 --trigger "1 second" --seconds 60
"""

import argparse
import json
import tempfile
import threading
import time
from bisect import bisect_left
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import polars as pl
from pyspark.sql import SparkSession

from benchmarks.core import payments, rule
from benchmarks.recording import record
from benchmarks.workplace import Batches, Workplace, stop
from processor_runtime.spark.job import StreamingJob
from processor_runtime.spark.micro_batches import BatchDone
from processor_runtime.spark.session import job_session

TICK_SECONDS: Final = 0.2
WARM_UP_BATCHES: Final = 20


@dataclass(slots=True)
class Arrivals:
    """When events could be seen: the newest event of each file, and the moment, both rising."""

    newest_ms: list[int] = field(default_factory=list)
    moments: list[float] = field(default_factory=list)

    def of(self, time_ms: int) -> float:
        """Return when the event of this time could be seen."""
        return self.moments[bisect_left(self.newest_ms, time_ms)]


def feed(place: Workplace, rate: int, arrivals: Arrivals, is_over: threading.Event) -> None:
    """Add files at a rate of events per second, each event with the time it has by the clock."""
    begin = time.time()
    put = 0
    while not is_over.wait(TICK_SECONDS):
        due = round((time.time() - begin) * rate)
        number = len(arrivals.moments)
        times = pl.int_range(put, due, eager=True) * 1_000 / rate + begin * 1_000
        events = payments(due - put, seed=10 * number).with_columns(ts=times.cast(pl.Int64))
        place.put(number, events, shift_ms=0)
        arrivals.newest_ms.append(events["ts"][-1])
        arrivals.moments.append(time.time())
        put = due


def latencies(place: Workplace, arrivals: Arrivals, written: dict[int, float]) -> pl.Series:
    """Return the seconds of each match of the batches that are known to have been written."""
    seconds = []
    for batch_id, moment in written.items():
        for file in (place.root / "out" / f"batch={batch_id}").glob("*.json"):
            lines = file.read_text().splitlines()
            seconds += [moment - arrivals.of(json.loads(line)["end_ms"]) for line in lines]
    return pl.Series(seconds, dtype=pl.Float64)


def measured(spark: SparkSession, options: argparse.Namespace) -> pl.Series:
    """Run a job on events as they come; return the seconds from arrival to match."""
    arrivals, is_over = Arrivals(), threading.Event()
    done_at: list[float] = []
    written = dict[int, float]()

    def on_batch(job: StreamingJob, done: BatchDone) -> None:
        done_at.append(time.time())
        if len(done_at) > WARM_UP_BATCHES and done.status.batch_id is not None:
            written[done.status.batch_id] = time.time()
            if time.time() > done_at[WARM_UP_BATCHES] + options.seconds:
                stop(job)

    with tempfile.TemporaryDirectory(prefix="percept-bench-") as directory:
        batches = Batches(options.trigger, files=1_000)
        place = Workplace(Path(directory, "job"), shards=2, batches=batches)
        place.publish({"r": rule(250)})
        feeder = threading.Thread(target=feed, args=(place, options.rate, arrivals, is_over))
        feeder.start()
        try:
            place.run(spark, on_batch)
        finally:
            is_over.set()
            feeder.join()
        return latencies(place, arrivals, written)


def main() -> None:
    """Run and print percentiles."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=int, default=10_000, help="events per second")
    parser.add_argument("--trigger", default="1 second", help="as in a job file")
    parser.add_argument("--seconds", type=float, default=60.0, help="after the first batches")
    parser.add_argument("--record", type=Path, help="a file of JSON lines, for the plots")
    options = parser.parse_args()
    settings = {"spark.master": "local[2]", "spark.ui.enabled": "false"}
    spark = job_session("latency", settings, java_has_rows=False)
    spark.sparkContext.setLogLevel("OFF")
    seconds = measured(spark, options)
    spark.stop()
    shown = {name: seconds.quantile(share) for name, share in _SHOWN.items()}
    print(
        f"{options.rate:,} events/s, trigger {options.trigger}: {len(seconds):,} matches, seconds"
        f" from arrival: {', '.join(f'{name} {value:.2f}' for name, value in shown.items())}",
        flush=True,
    )
    points = [seconds.quantile(percent / 100) for percent in range(1, 101)]
    record(
        options.record,
        part="latency",
        trigger=options.trigger,
        rate=options.rate,
        percentiles_seconds=points,
    )


_SHOWN: Final = {"median": 0.5, "p95": 0.95, "p99": 0.99, "longest": 1.0}

if __name__ == "__main__":
    main()

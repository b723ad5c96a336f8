"""From the rule service's answer to a publish until the new version's first match can be read.

    PUT answered ──► long poll ──► next batch is pinned ──► its events pass the watermark ──► file

The service is `percept serve` on SQLite, over loopback; events arrive continuously, with a new file
whenever the one before has been read.
"""

import json
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from pyspark.sql import SparkSession

from api.client import Client
from benchmarks.core import payments
from benchmarks.rule_service import served
from benchmarks.workplace import STREAM, Workplace, stop
from processor_runtime.spark.job import StreamingJob
from processor_runtime.spark.micro_batches import BatchDone

ROWS = 2_000
PATIENCE_SECONDS = 60.0
WARM_UP_PUBLISHES = 2


@contextmanager
def rule_service(folder: Path) -> Iterator[tuple[str, str]]:
    """Run a rule service; yield its address and the token of an admin."""
    log = folder / "serve.log"
    with log.open("wb") as output, served(f"sqlite:///{folder / 'bench.db'}", output) as url:
        yield url, next(word for word in log.read_text().split() if word.startswith("percept_"))


def versions_found(place: Workplace, seen: set[Path]) -> set[int]:
    """Return the versions of the matches in new files."""
    new = set((place.root / "out").glob("batch=*/*.json")) - seen
    seen |= new
    lines = [line for path in new for line in path.read_text().splitlines()]
    return {json.loads(line)["version"] for line in lines}


def publish(client: Client, amount: int) -> int:
    """Publish a rule of one step; return its version."""
    pattern = {"steps": [{"name": "pay", "where": f"amount >= {amount}"}]}
    return int(client.publish("payments", "r", pattern=pattern, key_by=["user"]).version)


def measured(client: Client, place: Workplace, publishes: int) -> list[float]:
    """Publish version after version; return for each the seconds until its first match."""
    seen: set[Path] = set()
    seconds = []
    for number in range(publishes):
        version = publish(client, number + 1)
        answered = time.perf_counter()
        while version not in versions_found(place, seen):
            if time.perf_counter() > answered + PATIENCE_SECONDS:
                raise TimeoutError(f"version {version} has found nothing")
            time.sleep(0.005)
        seconds.append(time.perf_counter() - answered)
    return seconds[WARM_UP_PUBLISHES:]


def publish_to_match(spark: SparkSession, shards: int, publishes: int = 22) -> None:
    """Print the seconds from the answer to a publish until the first match of its version."""
    with tempfile.TemporaryDirectory(prefix="percept-bench-") as directory:
        root = Path(directory)
        with rule_service(root) as (url, token), Client(url, token) as client:
            client.register_stream(STREAM)
            publish(client, 0)
            (root / "token").write_text(token)
            discoverer = {"type": "http", "url": url, "token_file": str(root / "token")}
            place = Workplace(root / "job", shards, discoverer=discoverer)
            seconds = _with_job(spark, place, client, publishes)
    print(
        f"  publish to first match  median {median(seconds):.2f} s, "
        f"{min(seconds):.2f} to {max(seconds):.2f} s ({len(seconds)} publishes)",
        flush=True,
    )


def _with_job(spark: SparkSession, place: Workplace, client: Client, publishes: int) -> list[float]:
    events = payments(ROWS * 1_000)
    batches: list[StreamingJob] = []
    seconds: list[float] = []
    has_begun = threading.Event()

    def put(number: int) -> None:
        place.put(number, events[number * ROWS : (number + 1) * ROWS])

    def on_batch(job: StreamingJob, _done: BatchDone) -> None:
        put(len(batches) + 1)
        batches.append(job)
        has_begun.set()

    def measure() -> None:
        has_begun.wait()
        try:
            seconds.extend(measured(client, place, publishes))
        finally:
            stop(batches[0])

    put(0)
    measuring: Any = threading.Thread(target=measure)
    measuring.start()
    place.run(spark, on_batch)
    measuring.join()
    return seconds

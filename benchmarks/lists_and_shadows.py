"""What a list of 100,000 values and five versions in shadow cost a job of 1,000 rules.

The same files through the same job, in turns: the rules alone; and with five of them tried in
another version, in shadow, and all of them asking a list whether the user is blocked. What matters
is the ratio of the batch times of one run.

    python -m benchmarks.lists_and_shadows
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl
from pydantic_core import to_json
from pyspark.sql import SparkSession

from benchmarks.core import SHOPS, payments, rule
from benchmarks.workplace import Source, Workplace, stop
from cep.list_content import list_content, list_digest
from discoverers.discoverer import DiscovererSurroundings, PatternProcessorDiscovererFactory
from discoverers.found import FoundProcessors
from discoverers.http import read_answer
from discoverers.periodic import PeriodicPatternProcessorDiscoverer
from processor_runtime.spark.job import StreamingJob
from processor_runtime.spark.micro_batches import BatchDone
from processor_runtime.spark.session import job_session

WARM_UP_BATCHES = 3
SHADOWS = 5
NOT_BLOCKED = " AND user NOT IN LIST('blocked')"
FIRST_BLOCKED = 10**9
"""Far from all users, so that the matches stay the same."""


class FolderFactory(PatternProcessorDiscovererFactory):
    """A snapshot and the contents of its lists in a folder, as a rule service would give them."""

    path: Path

    def create_discoverer(self, surroundings: DiscovererSurroundings) -> "FolderDiscoverer":
        """Return the discoverer."""
        return FolderDiscoverer(self.path, surroundings)


class FolderDiscoverer(PeriodicPatternProcessorDiscoverer):
    """Reads the folder once."""

    def __init__(self, path: Path, surroundings: DiscovererSurroundings) -> None:
        super().__init__(interval_seconds=3_600, initial=surroundings.initial)
        self._path = path

    def get_processors(self) -> FoundProcessors:
        """Return what the snapshot holds."""
        return read_answer((self._path / "snapshot.json").read_bytes(), "the snapshot")

    def list_content(self, digest: str) -> bytes:
        """Return a content."""
        return (self._path / digest).read_bytes()


def version(number: int, shop: int, *, asks: bool, amount: int = 250) -> dict[str, Any]:
    """Return a version of a rule of one shop."""
    only = f" AND shop = {shop}{NOT_BLOCKED if asks else ''}"
    definition = {
        "pattern": rule(amount, only=only).to_document(),
        "key_by": ["user"],
        "select": {"time": "fail.ts", "key": "fail.user"},
    }
    return {
        "version": number,
        "effective_from_ms": None,
        "effective_until_ms": None,
        "definition": definition,
    }


def write_snapshot(path: Path, rules: int, values: int) -> None:
    """Write rules, with a list of so many values and versions in shadow if there are values."""
    path.mkdir()
    processors = [
        {
            "id": f"r{number:05}",
            "paused": False,
            "versions": [version(1, number % SHOPS, asks=values > 0)],
        }
        for number in range(rules)
    ]
    snapshot: dict[str, Any] = {
        "format": 1,
        "epoch": 1,
        "stream": Source().stream() | {"version": 1},
        "processors": processors,
    }
    snapshot["stream"]["order_by"] = []
    if values:
        content = list_content(range(FIRST_BLOCKED, FIRST_BLOCKED + values))
        digest = list_digest(content)
        (path / digest).write_bytes(content)
        of_list = {"version": 1, "effective_from_ms": None, "digest": digest, "count": values}
        snapshot["lists"] = [{"name": "blocked", "type": "BIGINT", "versions": [of_list]}]
        snapshot["rollouts"] = [
            {
                "id": f"r{number:05}",
                "version": version(2, number % SHOPS, asks=True, amount=200),
                "share": 0,
            }
            for number in range(SHADOWS)
        ]
    (path / "snapshot.json").write_bytes(to_json(snapshot))


def batch_seconds(
    spark: SparkSession, files: list[pl.DataFrame], rules: int, values: int, shards: int
) -> tuple[float, int]:
    """Return the median seconds of a warm batch, and how many matches there were."""
    with tempfile.TemporaryDirectory(prefix="percept-bench-") as directory:
        folder = Path(directory, "snapshot")
        write_snapshot(folder, rules, values)
        discoverer = {"type": f"{FolderFactory.__module__}:FolderFactory", "path": str(folder)}
        place = Workplace(Path(directory, "job"), shards, discoverer=discoverer)
        for number, events in enumerate(files):
            place.put(number, events)
        moments: list[float] = []
        last: list[BatchDone] = []

        def on_batch(job: StreamingJob, done: BatchDone) -> None:
            moments.append(time.perf_counter())
            last[:] = [done]
            if len(moments) == len(files):
                stop(job)

        place.run(spark, on_batch)
        seconds = [later - earlier for earlier, later in pairwise(moments[WARM_UP_BATCHES:])]
        return median(seconds), last[0].status.totals.matches


def in_files(rows: int, batches: int) -> Iterator[pl.DataFrame]:
    """Yield the events of each batch; each user stays in one shop."""
    events = payments(rows * batches).with_columns(shop=pl.col("user") % SHOPS)
    for number in range(batches):
        yield events[number * rows : (number + 1) * rows]


def main() -> None:
    """Run both jobs in turns and print the ratio of their batch times."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rules", type=int, default=1_000)
    parser.add_argument("--values", type=int, default=100_000)
    parser.add_argument("--rows", type=int, default=200_000, help="events of a batch")
    parser.add_argument("--batches", type=int, default=9)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--shards", type=int, default=2)
    options = parser.parse_args()
    spark = job_session("percept benchmark", {"spark.ui.enabled": "false"})
    # A job that is stopped is an error to Spark; what fails is raised here, too.
    spark.sparkContext.setLogLevel("OFF")
    files = list(in_files(options.rows, options.batches))
    for _ in range(options.rounds):
        plain, found = batch_seconds(spark, files, options.rules, 0, options.shards)
        more, same = batch_seconds(spark, files, options.rules, options.values, options.shards)
        if found != same:
            raise SystemExit(f"{found:,} matches without, {same:,} with the list")
        print(
            f"{options.rules:,} rules: {plain:.2f} s a batch of {options.rows:,}, with {SHADOWS} "
            f"shadows and a list of {options.values:,}: {more:.2f} s, {more / plain:.2f} x; "
            f"{found:,} matches each",
            flush=True,
        )
    spark.stop()


if __name__ == "__main__":
    main()

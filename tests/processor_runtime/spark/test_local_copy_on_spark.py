"""Copies of buckets as Spark's workers keep them: there while a query runs, and of no effect."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from pydantic_core import from_json
from pyspark.sql import SparkSession

from contract.snapshot import Snapshot
from processor_runtime.state.bucket_count import KEYS_PER_BUCKET
from tests.processor_runtime.core.published import event, processor, sequence, stream, version
from tests.processor_runtime.spark.stage_query import Event, StageQuery

BEGIN_MS = 1_000_000
USERS = 300 * KEYS_PER_BUCKET
"""More buckets than are read one by one."""
ONE_IN = 100
"""So few that buckets stay small."""
BATCHES = 3


def of_users(name: str, time_ms: int, users: Iterable[int]) -> Sequence[Event]:
    """Return an event of each of some users."""
    return [event(name, time_ms, user=f"user {number}", price=number) for number in users]


def local_directories(spark: SparkSession) -> list[Path]:
    """Return where Spark's tasks on this machine keep their files."""
    tasks = spark.sparkContext.parallelize([0], 1)
    directories: str = tasks.map(lambda _: os.environ["SPARK_LOCAL_DIRS"]).first()
    return [Path(each) for each in directories.split(",")]


def copies(directories: Sequence[Path]) -> set[Path]:
    """Return the directories of queries that have copies."""
    return {path for each in directories for path in each.glob("percept-*")}


def test_batches_find_what_those_before_have_copied(spark: SparkSession, tmp_path: Path) -> None:
    batches = [of_users("a", BEGIN_MS, range(USERS))]
    batches += [
        of_users("b", BEGIN_MS + 1 + part, range(part, USERS, ONE_IN)) for part in range(BATCHES)
    ]
    batches += [of_users("x", BEGIN_MS + USERS, [0])]
    rules = Snapshot(
        format=1,
        epoch=1,
        stream=stream(),
        processors=[processor("p", version(1, sequence("ab")))],
    )
    directories = local_directories(spark)
    before = copies(directories)
    names: dict[int, set[str]] = {}

    def rules_of(batch: int) -> Snapshot:
        own = copies(directories) - before
        names[batch] = {path.name for directory in own for path in directory.iterdir()}
        return rules

    found = StageQuery(spark, tmp_path, stream(), shards=1).run(batches, rules_of)

    matched = [
        from_json(row.events or "")["a"][0]["price"] for each in found.values() for row in each
    ]
    assert sorted(matched) == [each for each in range(USERS) if each % ONE_IN < BATCHES]
    for batch in range(2, BATCHES + 1):  # the watermark passes each batch with the next one
        assert "shard-0.index" in names[batch]
        assert len(names[batch]) == 2

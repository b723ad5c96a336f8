"""A replacement on Spark splits the stream at one instant, and no batch sees two epochs."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from pydantic_core import from_json
from pyspark.sql import SparkSession

from contract.snapshot import Snapshot, SnapshotVersion
from processor_runtime.rows.output_rows import OutputRow
from tests.letters import event, processor, sequence, stream, version
from tests.processor_runtime.spark.stage_query import Event, StageQuery

BEGIN_MS = 1_000_000
BATCHES, EVENTS_PER_BATCH = 6, 40
SWITCH_MS = BEGIN_MS + 100
"""In the middle of the third batch."""


def given_batches() -> list[Sequence[Event]]:
    """One event a millisecond, of many users; then one far ahead that concerns nobody."""
    events = [
        event("a", BEGIN_MS + place, user=f"user {place % 17}", price=place)
        for place in range(BATCHES * EVENTS_PER_BATCH)
    ]
    parts = [events[n : n + EVENTS_PER_BATCH] for n in range(0, len(events), EVENTS_PER_BATCH)]
    return [*parts, [event("x", BEGIN_MS + 100_000)]]


def snapshot(epoch: int, *versions: SnapshotVersion) -> Snapshot:
    return Snapshot(format=1, epoch=epoch, stream=stream(), processors=[processor("p", *versions)])


def version_by_place(rows: Sequence[OutputRow]) -> list[int]:
    """Return which version matched each event; each must have been matched once."""
    found = {}
    for row in rows:
        (taken,) = from_json(row.events or "")["a"]
        assert taken["price"] not in found
        found[taken["price"]] = row.version or 0
    assert sorted(found) == list(range(BATCHES * EVENTS_PER_BATCH))
    return [found[place] for place in sorted(found)]


@pytest.mark.long
def test_versions_replace_each_other_at_one_instant_in_all_shards(
    spark: SparkSession, tmp_path: Path
) -> None:
    every = sequence("a")
    old, scheduled = version(1, every), version(2, every, from_ms=SWITCH_MS)
    before = snapshot(1, old, scheduled)
    after = snapshot(2, old, scheduled, version(3, every))

    batches = StageQuery(spark, tmp_path, stream(), shards=4).run(
        given_batches(), lambda batch: before if batch < 4 else after
    )

    rows = [row for batch_id in sorted(batches) for row in batches[batch_id]]
    assert {row.kind for row in rows} == {"match"}
    # The third was published when 160 events had been read: it is for those that came then.
    assert version_by_place(rows) == [1] * 100 + [2] * 60 + [3] * 80
    epochs = [{row.epoch or 0 for row in batches[batch_id]} for batch_id in sorted(batches)]
    assert all(len(seen) == 1 for seen in epochs)
    in_order = [epoch for seen in epochs for epoch in seen]
    assert in_order == sorted(in_order)
    assert set(in_order) == {1, 2}

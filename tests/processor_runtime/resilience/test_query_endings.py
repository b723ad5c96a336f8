"""When a query ends between two batches, and which batches it leaves to the next query."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from contract.snapshot import Snapshot, StreamDefinition
from processor_runtime.job_file.timing import Trigger
from processor_runtime.spark.job_query import JobQuery, QueryEnding, StreamWatch, WallClock
from tests.letters import stream


@dataclass
class BatchesThatCount:
    """Remembers which batches ran; those in `pinned` have begun before."""

    pinned: tuple[int, ...] = ()
    ran: list[int] = field(default_factory=list)

    @property
    def pins(self) -> "BatchesThatCount":
        return self

    def has(self, batch_id: int) -> bool:
        return batch_id in self.pinned

    def __call__(self, _frame: Any, batch_id: int) -> None:
        self.ran.append(batch_id)


@dataclass
class SparkQuery:
    """A query that is in a trigger as often as `triggers` says, and begins a batch when stopped.

    Spark's `stop` returns when the batch has; a batch that waits for whoever stops would hang it.
    """

    query: JobQuery
    triggers: Iterator[bool]
    isActive: bool = True  # noqa: N815 - Spark's name
    told: list[str] = field(default_factory=list)

    @property
    def status(self) -> dict[str, bool]:
        is_active = next(self.triggers)
        self.told.append("in a trigger" if is_active else "between triggers")
        return {"isTriggerActive": is_active}

    def awaitTermination(self, _seconds: float) -> bool:  # noqa: N802 - Spark's name
        return not self.isActive

    def stop(self) -> None:
        self.isActive = False
        batch = threading.Thread(target=self._begin_batch)
        batch.start()
        batch.join(60)
        assert not batch.is_alive()
        self.told.append("stopped")

    def _begin_batch(self) -> None:
        with pytest.raises(QueryEnding):
            self.query._batch(None, 7)  # type: ignore[arg-type] # no frame is looked at


class WrittenAs:
    """A frame whose writer starts a given query, whatever it is asked before."""

    def __init__(self, query: SparkQuery) -> None:
        self._query = query

    @property
    def writeStream(self) -> "WrittenAs":  # noqa: N802 - Spark's name
        return self

    def start(self) -> SparkQuery:
        return self._query

    def __getattr__(self, _name: str) -> Any:
        return lambda *_given, **_named: self


def job_query(batches: Any, newest: Snapshot | None, read: StreamDefinition) -> JobQuery:
    rows: Any = None
    watch = StreamWatch(lambda: newest, read)
    return JobQuery(rows, batches, watch, "test", "/checkpoint", Trigger(once=True))


def published(definition: StreamDefinition) -> Snapshot:
    return Snapshot(format=1, epoch=2, stream=definition, processors=[])


WIDER = stream().model_copy(update={"ddl": f"device STRING, {stream().ddl}"})


def test_a_query_is_stopped_after_its_trigger_and_runs_no_batch_that_begins_meanwhile() -> None:
    batches = BatchesThatCount()
    query = job_query(batches, published(stream()), stream())
    spark_query: Any = SparkQuery(query, iter([True, True, False]))
    query._query = spark_query
    query.end()
    assert spark_query.told == ["in a trigger", "in a trigger", "between triggers", "stopped"]
    assert batches.ran == []


def test_a_batch_begins_with_the_columns_that_the_stream_has_by_then() -> None:
    batches = BatchesThatCount()
    query = job_query(batches, published(WIDER), stream())
    frame: Any = None
    with pytest.raises(QueryEnding):
        query._batch(frame, 7)
    assert batches.ran == []
    assert query.watch.has_changed


def test_a_batch_that_was_cut_off_ends_with_the_columns_it_began_with() -> None:
    batches = BatchesThatCount(pinned=(7,))
    query = job_query(batches, published(WIDER), stream())
    frame: Any = None
    query._batch(frame, 7)
    with pytest.raises(QueryEnding):
        query._batch(frame, 8)
    assert batches.ran == [7]


def test_only_a_clock_that_is_set_back_has_changed() -> None:
    moments = iter([(100.0, 1.0), (101.0, 2.0), (99.0, 3.0), (9_000.0, 4.0), (8_990.0, 5.0)])
    now = [0.0, 0.0]
    clock = WallClock(now=lambda: now[0], elapsed=lambda: now[1])
    told = []
    for now[:] in moments:
        told.append(clock.is_set_back())
    assert told == [False, False, False, False, True]


def test_a_query_that_waits_by_a_clock_that_was_set_back_ends_after_its_batch() -> None:
    query = job_query(BatchesThatCount(), published(stream()), stream())
    spark_query: Any = SparkQuery(query, iter([True, False]))
    now = iter([10_000.0, 10_000.0, 0.0])
    query.clock = WallClock(now=lambda: next(now), elapsed=lambda: 0.0)
    query.rows = WrittenAs(spark_query)  # type: ignore[assignment] # Spark's writer is not needed
    query.run()
    assert query.was_set_back
    assert spark_query.told == ["in a trigger", "between triggers", "stopped"]

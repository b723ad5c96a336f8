"""Kafka as a streaming source of Spark, without Spark's connector.

    KafkaSource ──► planner beside the driver: positions of each batch ──► ranges, a row each

The records of a range are read by the first stage. Positions have the form of Spark's connector.
Several processes import this when a query starts: it and what it imports leave out all that takes
long to load.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pyspark.sql import types as T  # noqa: N812 - as all of Spark's documentation has it
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from processor_runtime.kafka.cluster import Cluster, Subscription, patience_seconds
from processor_runtime.kafka.loss import still_there, without_lost
from processor_runtime.kafka.offsets import (
    OffsetDocument,
    Positions,
    RecordRange,
    advanced,
    divide_ranges,
    document_of,
    positions_of,
    ranges_between,
)
from processor_runtime.kafka.settings import SOURCE_OPTIONS, client_settings
from processor_runtime.kafka.starting import starting_positions

FORMAT: Final = "percept-kafka"
_COLUMNS: Final = "topic STRING, partition INT, begin BIGINT, end BIGINT"
TASKS: Final = "tasks"
"""An option of the session's own: how many tasks can run at once."""
# Spark hands on the names of options in small letters.
_AS_WRITTEN: Final = {name.lower(): name for name in SOURCE_OPTIONS}


def cluster_of(options: Mapping[str, str]) -> Cluster:
    """Return the brokers that the options of a source lead to."""
    return Cluster(client_settings(options), patience_seconds(options))


class KafkaSource(DataSource):
    """The source as Spark knows it, by its options."""

    @classmethod
    def name(cls) -> str:
        """Return what it is called as a format."""
        return FORMAT

    def schema(self) -> str:
        """Return its columns."""
        return _COLUMNS

    def streamReader(self, schema: T.StructType) -> "KafkaStreamReader":  # noqa: N802 - Spark's
        """Return what plans and reads batches."""
        del schema
        options = {_AS_WRITTEN.get(name, name): value for name, value in self.options.items()}
        return KafkaStreamReader(options)


@dataclass
class TaskRanges(InputPartition):
    """What one task reads."""

    ranges: tuple[RecordRange, ...]


@dataclass
class KafkaStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans batches beside the driver; workers, which it is sent to as a copy, pass ranges on."""

    options: Mapping[str, str] = field(repr=False)
    _asked: Cluster | None = None
    _last: dict[tuple[str, int], int] | None = None
    _newest: Positions | None = None

    def initialOffset(self) -> OffsetDocument:  # noqa: N802 - Spark's name
        """Return where the first batch begins."""
        document: OffsetDocument
        text = self.options.get("startingOffsets", "")
        if text.startswith("{") and "startingTimestamp" not in self.options:
            document = json.loads(text)
            if all(offset >= 0 for offset in positions_of(document).values()):
                return document
        return document_of(starting_positions(self._cluster, self.options))

    def latestOffset(self, start: OffsetDocument, limit: ReadLimit) -> OffsetDocument:  # noqa: N802
        """Return where the batch ends that begins at `start`."""
        places = self._cluster.partitions(self._subscription)
        begin = still_there(positions_of(start), places, fails=self._fails_on_loss)
        earliest, self._newest = self._cluster.earliest(places), self._cluster.latest(places)
        first = without_lost(begin, earliest, self._newest, fails=self._fails_on_loss)
        ends = dict(self._newest if self._last is None else self._last)
        # A topic that was created anew is read from the next batch on, which can begin lower.
        ends |= {place: offset for place, offset in first.items() if offset < begin[place]}
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        return document_of(advanced(first, earliest, ends, most))

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Return how much a batch may read."""
        most = self.options.get("maxOffsetsPerTrigger")
        return ReadAllAvailable() if most is None else ReadMaxRows(int(most))

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Remember up to where there is something now: no batch will read more."""
        self._last = self._cluster.latest(self._cluster.partitions(self._subscription))

    def reportLatestOffset(self) -> OffsetDocument | None:  # noqa: N802 - Spark's name
        """Return the newest offsets, as they were when the last batch was planned."""
        return None if self._newest is None else document_of(self._newest)

    def partitions(self, start: OffsetDocument, end: OffsetDocument) -> Sequence[TaskRanges]:
        """Return what the tasks of a batch read."""
        ranges = ranges_between(positions_of(start), positions_of(end))
        tasks = int(self.options.get(TASKS, len(ranges) or 1))
        pieces = int(self.options.get("minPartitions", 1))
        return [TaskRanges(each) for each in divide_ranges(ranges, tasks, pieces)]

    def read(self, partition: InputPartition) -> Iterator[tuple[str, int, int, int]]:
        """Yield the ranges that a task is to read."""
        assert isinstance(partition, TaskRanges)  # noqa: S101 - of `partitions`
        for each in partition.ranges:
            yield each.topic, each.partition, each.begin, each.end

    @property
    def _cluster(self) -> Cluster:
        self._asked = self._asked or cluster_of(self.options)
        return self._asked

    @property
    def _subscription(self) -> Subscription:
        return Subscription.of(self.options)

    @property
    def _fails_on_loss(self) -> bool:
        return self.options.get("failOnDataLoss", "true").lower() == "true"

"""What the mock cluster cannot show: offsets without records, and offsets by time."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest

from processor_runtime.kafka.offsets import Place, RecordRange

pytest.importorskip("confluent_kafka", reason="the extra 'kafka' is not installed")
from confluent_kafka import KafkaError

from processor_runtime.kafka import reading
from processor_runtime.kafka.cluster import KafkaFailed
from processor_runtime.kafka.reading import ReadingRules, messages_of
from processor_runtime.kafka.settings import KafkaOptionError
from processor_runtime.kafka.starting import starting_positions
from processor_runtime.kafka.troubles import Troubles
from processor_runtime.spark.kafka_source import KafkaStreamReader

END = KafkaError._PARTITION_EOF


class Said:
    """A message, or the end of a partition, as the client returns it."""

    def __init__(self, offset: int, code: int | None = None) -> None:
        self._offset = offset
        self._error = None if code is None else KafkaError(code)

    def topic(self) -> str:
        return "t"

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self._offset

    def error(self) -> KafkaError | None:
        return self._error


class Consumer:
    """Says what it is given, one at a time, and then nothing."""

    def __init__(self, *said: Said) -> None:
        self.said = list(said)
        self.sought: list[int] = []

    def poll(self, _seconds: float) -> Said | None:
        return self.said.pop(0) if self.said else None

    def consume(self, _number: int, _seconds: float) -> list[Said]:
        return []

    def seek(self, place: Any) -> None:
        self.sought.append(place.offset)

    def assign(self, _places: Any) -> None: ...

    def unassign(self) -> None: ...

    def resume(self, _places: Any) -> None: ...

    def close(self) -> None: ...


def offsets(monkeypatch: pytest.MonkeyPatch, consumer: Consumer, **rules: Any) -> list[int]:
    monkeypatch.setattr(reading, "_consumer", lambda each: (consumer, Troubles(each.settings)))
    found = messages_of([RecordRange("t", 0, 2, 6)], ReadingRules({}, **rules))
    return [int(each.offset() or 0) for part in found for each in part]


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ([Said(2), Said(3), Said(5)], [2, 3, 5]),
        # Compaction has removed the last ones, and a later one comes.
        ([Said(2), Said(4), Said(9)], [2, 4]),
        # The last offset is of the end of a transaction; nothing comes after it.
        ([Said(2), Said(4), Said(6, END)], [2, 4]),
        ([Said(7, END)], []),
        # A new leader does not know of all records at once.
        ([Said(2), Said(3, END), Said(3), Said(4), Said(5)], [2, 3, 4, 5]),
    ],
)
def test_a_range_ends_where_its_last_record_is_or_would_be(
    monkeypatch: pytest.MonkeyPatch, said: list[Said], wanted: list[int]
) -> None:
    assert offsets(monkeypatch, Consumer(*said)) == wanted


@pytest.mark.parametrize("fails", [True, False])
def test_a_partition_that_stays_too_short_is_a_loss(
    monkeypatch: pytest.MonkeyPatch,
    fails: bool,  # noqa: FBT001
) -> None:
    monkeypatch.setattr(reading, "_TRUNCATED_AFTER_SECONDS", 0.0)
    consumer = Consumer(Said(2), Said(3, END), Said(3, END))
    if fails:
        with pytest.raises(KafkaFailed, match=r"offsets 2 to 6: .* The partition ends at 3"):
            offsets(monkeypatch, consumer)
    else:
        assert offsets(monkeypatch, consumer, fails_on_loss=False) == [2]


class Times:
    """A cluster of two partitions; the second has no record since the time."""

    def __init__(self) -> None:
        self.asked: Mapping[Place, int] = {}

    def partitions(self, _subscription: object) -> list[Place]:
        return [("t", 0), ("t", 1)]

    def at_time(self, times_ms: Mapping[Place, int]) -> dict[Place, int | None]:
        self.asked = times_ms
        return {("t", 0): 17, ("t", 1): None}

    def latest(self, places: list[Place]) -> dict[Place, int]:
        return dict.fromkeys(places, 99)


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        ({"startingTimestamp": "2026-11-23T08:00:00Z"}, [1_795_420_800_000] * 2),
        ({"startingTimestamp": "1795420800000"}, [1_795_420_800_000] * 2),
        ({"startingOffsetsByTimestamp": '{"t": {"0": 5, "1": 6}}'}, [5, 6]),
    ],
)
def test_a_job_begins_at_a_time_and_at_the_end_where_nothing_is_as_young(
    options: dict[str, str], asked: list[int]
) -> None:
    cluster: Any = Times()
    options = {"subscribe": "t", "startingOffsets": "earliest"} | options
    with pytest.raises(KafkaOptionError, match=r"partition 1 has no record .*Strategy: latest"):
        starting_positions(cluster, options)
    more = options | {"startingOffsetsByTimestampStrategy": "latest"}
    assert starting_positions(cluster, more) == {("t", 0): 17, ("t", 1): 99}
    assert list(cluster.asked.values()) == asked


class Grown(Times):
    """A topic that has got a second partition, whose first records are gone already."""

    def earliest(self, places: list[Place]) -> dict[Place, int]:
        return {place: 3 * place[1] for place in places}

    def latest(self, places: list[Place]) -> dict[Place, int]:
        return dict.fromkeys(places, 7)


def test_a_partition_that_is_added_to_a_topic_is_read_from_its_first_record() -> None:
    reader = KafkaStreamReader({"subscribe": "t"}, pa.schema([]))
    reader._asked = Grown()  # type: ignore[assignment] # as much of a cluster as is asked
    start = {"t": {"0": 5}}
    first = reader.latestOffset(start, reader.getDefaultReadLimit())
    second = reader.latestOffset(first, reader.getDefaultReadLimit())
    assert first == {"t": {"0": 7, "1": 3}}
    assert [each.ranges for each in reader.partitions(start, first)] == [
        (RecordRange("t", 0, 5, 7),)
    ]
    assert [each.ranges for each in reader.partitions(first, second)] == [
        (RecordRange("t", 1, 3, 7),)
    ]
    assert reader.latestOffset(second, reader.getDefaultReadLimit()) == second


def test_the_position_of_another_source_is_told_to_be_one() -> None:
    reader = KafkaStreamReader({"subscribe": "t"}, pa.schema([]))
    reader._asked = Grown()  # type: ignore[assignment] # as above
    with pytest.raises(ValueError, match=r"is of another source\. Use a new one"):
        reader.latestOffset({"logOffset": 3}, reader.getDefaultReadLimit())  # type: ignore[dict-item]

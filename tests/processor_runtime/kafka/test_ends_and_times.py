"""What the mock cluster cannot show: offsets without records, and offsets by time."""

from collections.abc import Mapping
from itertools import chain, repeat
from typing import Any
from unittest.mock import Mock

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
from processor_runtime.spark.sources.kafka_source import KafkaStreamReader

END = KafkaError._PARTITION_EOF


def said(offset: int, code: int | None = None) -> Mock:
    """Return a message, or the end of a partition, as the client does."""
    error = None if code is None else KafkaError(code)
    answers = {"topic": "t", "partition": 0, "offset": offset, "error": error}
    return Mock(**{name: Mock(return_value=answer) for name, answer in answers.items()})


def offsets(monkeypatch: pytest.MonkeyPatch, messages: list[Mock], **rules: Any) -> list[int]:
    """Return the offsets that are read where a client says this, one at a time, then nothing."""
    poll = Mock(side_effect=chain(messages, repeat(None)))
    consumer = Mock(poll=poll, consume=Mock(return_value=[]))
    monkeypatch.setattr(reading, "_consumer", lambda each: (consumer, Troubles(each.settings)))
    found = messages_of([RecordRange("t", 0, 2, 6)], ReadingRules({}, **rules))
    return [int(each.offset() or 0) for part in found for each in part]


@pytest.mark.parametrize(
    ("messages", "wanted"),
    [
        ([said(2), said(3), said(5)], [2, 3, 5]),
        # Compaction has removed the last ones, and a later one comes.
        ([said(2), said(4), said(9)], [2, 4]),
        # The last offset is of the end of a transaction; nothing comes after it.
        ([said(2), said(4), said(6, END)], [2, 4]),
        ([said(7, END)], []),
        # A new leader does not know of all records at once.
        ([said(2), said(3, END), said(3), said(4), said(5)], [2, 3, 4, 5]),
    ],
)
def test_a_range_ends_where_its_last_record_is_or_would_be(
    monkeypatch: pytest.MonkeyPatch, messages: list[Mock], wanted: list[int]
) -> None:
    assert offsets(monkeypatch, messages) == wanted


def test_a_partition_that_stays_too_short_is_a_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_TRUNCATED_AFTER_SECONDS", 0.0)
    messages = [said(2), said(3, END), said(3, END)]
    with pytest.raises(KafkaFailed, match=r"offsets 2 to 6: .* The partition ends at 3"):
        offsets(monkeypatch, messages)
    assert offsets(monkeypatch, messages, fails_on_loss=False) == [2]


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
    for begin, end, *wanted in ((start, first, 0, 5, 7), (first, second, 1, 3, 7)):
        (part,) = reader.partitions(begin, end)
        assert part.ranges == (RecordRange("t", *wanted),)
    assert reader.latestOffset(second, reader.getDefaultReadLimit()) == second
    with pytest.raises(ValueError, match=r"is of another source\. Use a new one"):
        reader.latestOffset({"logOffset": 3}, reader.getDefaultReadLimit())  # type: ignore[dict-item]

"""Records of Kafka as events: ranges that somebody else has planned, read from real brokers."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from processor_runtime.sources.event_frames import EventFrames
from processor_runtime.sources.json_values import JsonValues
from tests.processor_runtime.kafka.brokers import Brokers, brokers
from tests.processor_runtime.sources.streams import NOW_MS, malformed

pytest.importorskip("confluent_kafka", reason="the extra 'kafka' is not installed")
from processor_runtime.kafka.reading import ReadingRules
from processor_runtime.sources.kafka_events import KafkaEvents

AT = 1_777_000_000_123
BESIDE: dict[str, tuple[str, pa.DataType]] = {
    "who": ("key", pa.string()),
    "raw_key": ("key", pa.binary()),
    "topic": ("topic", pa.string()),
    "partition": ("partition", pa.int64()),
    "place": ("offset", pa.decimal128(20, 0)),
    "written": ("timestamp", pa.timestamp("us", "UTC")),
    "kind": ("timestampType", pa.int32()),
    "headers": ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.string())]))),
}
INSIDE = pa.schema([("n", pa.int64())])


@pytest.fixture(scope="module")
def kafka() -> Iterator[Brokers]:
    with brokers() as cluster:
        yield cluster


def events(
    kafka: Brokers, *ranges: tuple[Any, ...], has_places: bool = True, skips_null: bool = False
) -> list[Any]:
    """Return the events of ranges: topic, partition, begin, end."""
    columns = pa.schema([*INSIDE, *((name, kind) for name, (_, kind) in BESIDE.items())])
    frames = EventFrames.of_schema(columns, "written", has_places=has_places)
    read = KafkaEvents(ReadingRules(kafka.settings), JsonValues(INSIDE), BESIDE, frames, skips_null)
    names = ["topic", "partition", "begin", "end"]
    rows = [dict(zip(names, each, strict=True)) for each in ranges]
    found = read([pa.RecordBatch.from_pylist(rows)], lambda: NOW_MS)
    return [event for frame in found for event in frame.to_dicts()]


def test_a_record_is_read_with_everything_that_kafka_knows_of_it(kafka: Brokers) -> None:
    kafka.create("whole", 2)
    headers = [("trace", b"a\xff"), ("trace", None)]
    values = [b'{"n": 7}', None]
    kafka.give("whole", 1, *values, key=b"k\xff", headers=headers, timestamp=AT)

    first, second = events(kafka, ("whole", 1, 0, 2))

    assert first == {
        "_time_ms": AT,
        "n": 7,
        "who": "k\ufffd",
        "raw_key": b"k\xff",
        "topic": "whole",
        "partition": 1,
        "place": 0,
        "written": datetime.fromtimestamp(AT / 1_000, UTC),
        "kind": 0,
        "headers": [{"key": "trace", "value": "a\ufffd"}, {"key": "trace", "value": None}],
        "_malformed": None,
        "_too_far_ahead_ms": None,
        "_place_in_kafka": {"topic": "whole", "partition": 1, "offset": 0},
    }
    assert malformed(second) == {
        "reason": "the value is NULL",
        "topic": "whole",
        "partition": 1,
        "offset": 1,
    }
    assert (second["_time_ms"], second["who"]) == (None, "k\ufffd")


def test_a_bad_record_among_many_is_the_only_one_that_is_malformed(kafka: Brokers) -> None:
    kafka.create("many", 2)
    good = [b'{"n": %d}' % number for number in range(500)]
    kafka.give("many", 0, *good, b"{broken", *good, timestamp=AT)
    kafka.give("many", 1, *good, timestamp=AT)

    found = events(kafka, ("many", 0, 0, 1_001), ("many", 1, 0, 500), has_places=False)

    assert "_place_in_kafka" not in found[0]
    (bad,) = (event for event in found if event["_malformed"])
    assert malformed(bad) | {"reason": ""} == {
        "reason": "",
        "raw": "{broken",
        "topic": "many",
        "partition": 0,
        "offset": 500,
    }
    numbers = [event["n"] for event in found if event["partition"] == 0]
    assert numbers == [*range(500), None, *range(500)]
    assert len(found) == 1_501


def test_values_that_are_null_are_left_out_if_the_job_says_so(kafka: Brokers) -> None:
    kafka.create("tombs", 1)
    kafka.give("tombs", 0, b'{"n": 1}', None, b"", None, b'{"n": 2}', None, timestamp=AT)
    found = events(kafka, ("tombs", 0, 0, 6), skips_null=True)
    assert [event["n"] for event in found] == [1, None, 2]
    assert malformed(found[1])["offset"] == 2

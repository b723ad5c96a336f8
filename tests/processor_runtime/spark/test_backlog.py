"""What progress of a query tells of events that wait at the source."""

from typing import Any

import pytest

from processor_runtime.spark.sources.backlog import unread_events

READ = '{"payments":{"0":100,"1":40}}'
NEWEST = '{"payments":{"0":130,"1":45,"2":7}}'


def source(read: Any, newest: Any) -> dict[str, Any]:
    return {"endOffset": read, "latestOffset": newest}


def test_offsets_of_kafka_are_counted_per_partition() -> None:
    assert unread_events([source(READ, NEWEST)]) == 30 + 5 + 7
    assert unread_events([source(READ, READ)]) == 0


def test_offsets_may_be_mappings() -> None:
    assert unread_events([source({"t": {"0": 1}}, {"t": {"0": 4}})]) == 3


@pytest.mark.parametrize(
    ("read", "newest"),
    [(None, None), ('{"logOffset":3}', None), ("7", "9"), ("x", NEWEST), (READ, None)],
)
def test_a_source_that_tells_nothing_comparable_has_no_known_backlog(
    read: Any, newest: Any
) -> None:
    assert unread_events([source(read, newest)]) is None
    assert unread_events([source(read, newest), source(READ, NEWEST)]) == 42


def test_a_partition_that_was_emptied_meanwhile_counts_nothing() -> None:
    assert unread_events([source('{"t":{"0":9}}', '{"t":{"0":4}}')]) == 0

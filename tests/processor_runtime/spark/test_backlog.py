"""What progress of a query tells of events that wait at the source."""

from typing import Any

import pytest

from processor_runtime.spark.sources.backlog import unread_events

READ = '{"payments":{"0":100,"1":40}}'
NOT_COMPARABLE = [(None, None), ('{"logOffset":3}', None), ("7", "9"), ("x", "{}"), (READ, None)]
NEWEST = '{"payments":{"0":130,"1":45,"2":7}}'


def source(read: Any, newest: Any) -> dict[str, Any]:
    return {"endOffset": read, "latestOffset": newest}


@pytest.mark.parametrize(
    ("read", "newest", "count"),
    [
        (READ, NEWEST, 30 + 5 + 7),
        (READ, READ, 0),
        ({"t": {"0": 1}}, {"t": {"0": 4}}, 3),
        ('{"t":{"0":9}}', '{"t":{"0":4}}', 0),  # emptied meanwhile
        *((read, newest, None) for read, newest in NOT_COMPARABLE),
    ],
)
def test_events_that_wait_are_counted_where_the_source_tells_them(
    read: Any, newest: Any, count: int | None
) -> None:
    assert unread_events([source(read, newest)]) == count
    assert unread_events([source(read, newest), source(READ, NEWEST)]) == (count or 0) + 42

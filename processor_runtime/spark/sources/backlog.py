"""The number of events at a source that have not been read yet.

progress of the query ──unread_events──► backlog of the heartbeat; `None` if unknown

Kafka reports its newest offsets; files and most other sources report nothing comparable.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic_core import from_json


def unread_events(sources: Iterable[Mapping[str, Any]]) -> int | None:
    """Return how many events the sources of a query hold unread.

    `sources`: of the newest progress: `endOffset` and `latestOffset`, as mappings or as their JSON
    text.
    """
    unread = [_unread(source.get("endOffset"), source.get("latestOffset")) for source in sources]
    known = [count for count in unread if count is not None]
    return sum(known) if known else None


def _unread(read: Any, newest: Any) -> int | None:
    """Return the difference of two offsets of Kafka: topic → partition → offset."""
    read_by_topic, newest_by_topic = _offsets(read), _offsets(newest)
    if read_by_topic is None or newest_by_topic is None:
        return None
    return sum(
        max(offset - read_by_topic.get(place, 0), 0) for place, offset in newest_by_topic.items()
    )


def _offsets(value: Any) -> dict[tuple[str, str], int] | None:
    try:
        content = from_json(value) if isinstance(value, str) else value
        return {
            (topic, partition): int(offset)
            for topic, partitions in content.items()
            for partition, offset in partitions.items()
        }
    except (AttributeError, TypeError, ValueError):
        return None

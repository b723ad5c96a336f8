"""Until when partial matches of a version that drains may still be finished.

intervals of one processor, joined ──limit_draining──► the same, each with `drains_until_ms`
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from processor_runtime.schedule.interval import END_MS, Interval


def limit_draining(
    intervals: Sequence[Interval],
    next_ms: int,
    *,
    is_stopped: bool,
    barred: set[tuple[str, int, str]],
) -> Iterator[Interval]:
    """Yield the intervals of one processor with the end of their draining as it is known now.

    A pause, a deletion and a version that begins with `on_update: drop` drop all partial matches of
    earlier versions, those that drain among them. An end in the past does not change; an end after
    the newest event read is decided again.

    Args:
        intervals: in the order of time.
        next_ms: the first event time for which anything can still be decided.
        is_stopped: whether the processor is paused or deleted.
        barred: versions that have failed.
    """
    for position, interval in enumerate(intervals):
        if not interval.drains or interval.drains_until_ms <= next_ms:
            yield interval
            continue
        has_failed = (interval.processor_id, interval.version, interval.digest) in barred
        until_ms = (
            next_ms
            if is_stopped or has_failed
            else _dropped_ms(interval, intervals[position + 1 :])
        )
        at_least_ms = max(next_ms, interval.active_until_ms)
        yield replace(interval, drains_until_ms=max(until_ms, at_least_ms))


def _dropped_ms(interval: Interval, later: Iterable[Interval]) -> int:
    return min(
        (
            other.published_from_ms
            for other in later
            if not other.is_same_version(interval) and other.definition.get("on_update") != "drain"
        ),
        default=END_MS,
    )

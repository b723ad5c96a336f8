"""What a filter of matches finds, in numbers: over event time, by rule and by key; reads only.

filter ─► ends, rules and keys ─► length of a bucket ─► counts per bucket, most frequent
"""

from collections import Counter
from heapq import nsmallest
from typing import Final

from sqlalchemy.orm import Session

from api.matches import repository
from api.matches.filters import MatchFilter
from contract.service.matches import MatchesSummary, ValueCount

_SECOND_MS: Final = 1_000
_DAY_MS: Final = 86_400_000
_LENGTHS_MS: Final = (
    *(seconds * _SECOND_MS for seconds in (1, 5, 10, 30, 60, 300, 600, 1_800, 3_600, 10_800)),
    *(days * _DAY_MS // 4 for days in (1, 2, 4, 8, 28, 120, 360)),
)
_MOST_BUCKETS: Final = 60
_MOST_VALUES: Final = 10


def summary_of(session: Session, stream: str, wanted: MatchFilter) -> MatchesSummary:
    """Return how many matches meet a filter, when they ended, and of which rules and keys.

    Of very many only the newest are counted, so that it does not take long.
    """
    found = repository.counts_of(session, stream, wanted)
    first_ms, last_ms = min(found.ends_ms, default=None), max(found.ends_ms, default=None)
    bucket_ms, times, counts = 0, list[int](), list[int]()
    if first_ms is not None and last_ms is not None:
        bucket_ms = bucket_length_ms(last_ms - first_ms)
        by_bucket = Counter(end_ms // bucket_ms for end_ms in found.ends_ms)
        buckets = range(first_ms // bucket_ms, last_ms // bucket_ms + 1)
        times = [bucket * bucket_ms for bucket in buckets]
        counts = [by_bucket[bucket] for bucket in buckets]
    return MatchesSummary(
        total=len(found.ends_ms),
        first=first_ms,
        last=last_ms,
        bucket_ms=bucket_ms,
        times=times,
        counts=counts,
        processors=_most_frequent(found.processors),
        keys=_most_frequent(found.keys),
        is_partial=found.is_partial,
    )


def bucket_length_ms(span_ms: int) -> int:
    """Return how long a bucket is, so that a span lies in at most 61 of them."""
    for length_ms in _LENGTHS_MS:
        if span_ms <= length_ms * _MOST_BUCKETS:
            return length_ms
    return (span_ms // (_MOST_BUCKETS * _DAY_MS) + 1) * _DAY_MS


def _most_frequent(counts: Counter[str]) -> list[ValueCount]:
    in_order = nsmallest(_MOST_VALUES, counts.items(), key=lambda each: (-each[1], each[0]))
    return [ValueCount(value=value, count=count) for value, count in in_order]

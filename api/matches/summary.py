"""What a filter of matches finds, in numbers: over event time, by rule and by key; reads only.

filter ─► count, first and last end ─► length of a bucket ─► counts per bucket, most frequent
"""

from typing import Final

from sqlalchemy.orm import InstrumentedAttribute, Session

from api.matches import repository
from api.matches.filters import MatchFilter
from api.matches.tables import Match
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
    total, first_ms, last_ms, since = repository.ends(session, stream, wanted)
    bucket_ms, times, counts = 0, list[int](), list[int]()
    if first_ms is not None and last_ms is not None:
        bucket_ms = bucket_length_ms(last_ms - first_ms)
        found = repository.ends_by_bucket(session, stream, wanted, since, bucket_ms)
        buckets = range(first_ms // bucket_ms, last_ms // bucket_ms + 1)
        times = [bucket * bucket_ms for bucket in buckets]
        counts = [found.get(bucket, 0) for bucket in buckets]
    return MatchesSummary(
        total=total,
        first=first_ms,
        last=last_ms,
        bucket_ms=bucket_ms,
        times=times,
        counts=counts,
        processors=_most_frequent(session, stream, wanted, since, Match.processor_id),
        keys=_most_frequent(session, stream, wanted, since, Match.key_text),
        is_partial=since is not None,
    )


def bucket_length_ms(span_ms: int) -> int:
    """Return how long a bucket is, so that a span lies in at most 61 of them."""
    for length_ms in _LENGTHS_MS:
        if span_ms <= length_ms * _MOST_BUCKETS:
            return length_ms
    return (span_ms // (_MOST_BUCKETS * _DAY_MS) + 1) * _DAY_MS


def _most_frequent(
    session: Session,
    stream: str,
    wanted: MatchFilter,
    since: int | None,
    column: InstrumentedAttribute[str],
) -> list[ValueCount]:
    found = repository.most_frequent(session, stream, wanted, since, column, _MOST_VALUES)
    return [ValueCount(value=value, count=count) for value, count in found]

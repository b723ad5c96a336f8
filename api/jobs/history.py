"""A short history of counters: what each heartbeat adds goes into the bucket of its time.

A job has one bucket a minute; a processor in a job one per five minutes, and none while it counts
nothing, so that ten thousand processors stay affordable. Both are kept for `PERCEPT_HISTORY_HOURS`.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from sqlalchemy.orm import Session

from api.jobs import history_repository as repository
from api.jobs.history_repository import JOB_BUCKET_MS, PROCESSOR_BUCKET_MS
from api.jobs.tables import Counted, Job, JobBucket, ProcessorBucket
from contract.reports import Counters
from contract.service.jobs import History

COUNTERS: Final = tuple(Counters.model_fields)

_REPORTED_GAUGES: Final = ("batch_duration_ms", "backlog_events", "partial_matches", "state_bytes")
_JOB_SERIES: Final = (*COUNTERS, "watermark_delay_ms", *_REPORTED_GAUGES)


def take_over(record: Counted, totals: Counters) -> dict[str, int]:
    """Set the totals of a record and return the increase of each."""
    growth = {}
    for name in COUNTERS:
        total = getattr(totals, name)
        growth[name] = max(total - (getattr(record, name) or 0), 0)
        setattr(record, name, total)
    return growth


def add_job_growth(session: Session, job: Job, growth: Mapping[str, int], now_ms: int) -> bool:
    """Add what a job has counted to the bucket of now; return whether that bucket is new."""
    start_ms = now_ms - now_ms % JOB_BUCKET_MS
    bucket = repository.job_bucket(session, job.id, start_ms)
    is_new = bucket is None
    if bucket is None:
        bucket = JobBucket(job_id=job.id, start_ms=start_ms, **dict.fromkeys(COUNTERS, 0))
        session.add(bucket)
    _grow(bucket, growth)
    if job.watermark_ms is not None and job.newest_event_ms is not None:
        bucket.watermark_delay_ms = job.newest_event_ms - job.watermark_ms
    for name in _REPORTED_GAUGES:
        setattr(bucket, name, getattr(job, name))
    return is_new


def add_processor_growth(
    session: Session, job_id: str, growth: Mapping[str, Mapping[str, int]], now_ms: int
) -> None:
    """Add what processors have counted in a job, by processor, to their buckets of now."""
    grown = {name: by_counter for name, by_counter in growth.items() if any(by_counter.values())}
    starts = _starts(now_ms, now_ms + 1, PROCESSOR_BUCKET_MS)
    found = repository.processor_buckets(session, job_id, grown, starts)
    buckets = {bucket.processor_id: bucket for bucket in found}
    for processor_id, by_counter in grown.items():
        bucket = buckets.get(processor_id)
        if bucket is None:
            bucket = ProcessorBucket(
                job_id=job_id,
                processor_id=processor_id,
                start_ms=starts.start,
                **dict.fromkeys(COUNTERS, 0),
            )
            session.add(bucket)
        _grow(bucket, by_counter)


def job_history(session: Session, job_id: str, since_ms: int, until_ms: int) -> History:
    """Return the series of a job for the buckets of `[since_ms, until_ms)`."""
    starts = _starts(since_ms, until_ms, JOB_BUCKET_MS)
    found = repository.job_buckets(session, job_id, starts)
    return _history(starts, {bucket.start_ms: bucket for bucket in found}, _JOB_SERIES)


def processor_history(
    session: Session, job_id: str, processor_id: str, since_ms: int, until_ms: int
) -> History:
    """Return the series of a processor in a job for the buckets of `[since_ms, until_ms)`."""
    starts = _starts(since_ms, until_ms, PROCESSOR_BUCKET_MS)
    found = repository.processor_buckets(session, job_id, [processor_id], starts)
    return _history(starts, {bucket.start_ms: bucket for bucket in found}, COUNTERS)


def _grow(bucket: Counted, growth: Mapping[str, int]) -> None:
    for name, amount in growth.items():
        setattr(bucket, name, getattr(bucket, name) + amount)


def _starts(since_ms: int, until_ms: int, bucket_ms: int) -> range:
    return range(since_ms - since_ms % bucket_ms, until_ms, bucket_ms)


def _history(starts: range, found: Mapping[int, Counted], names: Sequence[str]) -> History:
    series: dict[str, list[int | None]] = {}
    for name in names:
        absent = 0 if name in COUNTERS else None
        series[name] = [
            getattr(found[start_ms], name) if start_ms in found else absent for start_ms in starts
        ]
    return History(bucket_seconds=starts.step // 1_000, times=list(starts), series=series)

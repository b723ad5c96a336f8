"""A batch matches what it has read, up to where its newest event shows that all are there."""

from hypothesis import given
from hypothesis import strategies as st

from processor_runtime.schedule.batch_clock import NO_WATERMARK_MS, BatchClock
from tests.processor_runtime.core.pipeline import Options, Pipeline
from tests.processor_runtime.core.published import (
    absence,
    event,
    letters,
    processor,
    sequence,
    spelled,
    stream,
    version,
)

AB = processor("p", version(1, sequence("ab")))
DELAY_MS = 100


def job(*, shards: int = 4, delay_ms: int = DELAY_MS) -> Pipeline:
    made = Pipeline(stream(delay_ms), Options(shards=shards))
    made.publish(AB, processor("q", version(1, absence("a", "b", 10))))
    return made


def test_a_match_is_found_by_the_batch_that_reads_it() -> None:
    assert spelled(job().batch([*letters("ab", 1_000), *letters("x", 1_102)])) == [
        "p1 match a1000 b1001"
    ]


def test_events_of_the_newest_time_wait_for_others_of_that_time() -> None:
    pipeline = job(delay_ms=0)
    assert pipeline.batch(letters("ab", 1_000)) == []
    assert spelled(pipeline.batch([event("b", 1_001, price=2)])) == []
    assert spelled(pipeline.batch(letters("x", 1_002))) == ["p1 match a1000 b1001"]


def test_events_of_one_batch_may_come_in_any_order() -> None:
    found = job().batch([*letters("x", 9_000), *letters("b", 1_001), *letters("a", 1_000)])
    assert spelled(found) == ["p1 match a1000 b1001"]


def test_what_comes_after_it_is_late_by_what_the_batch_has_read() -> None:
    pipeline = job()
    pipeline.batch(letters("x", 1_101))
    rows = pipeline.batch([*letters("a", 1_000), *letters("a", 1_001), *letters("x", 1_300)])
    # 1000 is the watermark that the first batch has left.
    assert [(row.kind, row.start_ms) for row in rows if row.kind == "late"] == [("late", 1_000)]
    assert spelled(rows) == ["q1 match a1001"]


def test_shards_without_an_event_close_their_windows_in_the_batch_that_shows_the_time() -> None:
    pipeline = job()
    pipeline.batch([event("a", 1_000 + number, user=str(number)) for number in range(8)])
    found = pipeline.batch([event("x", 2_000, user="x")], partitions=1)
    assert sorted(spelled(found)) == [f"q1 match a{1_000 + number}" for number in range(8)]
    assert pipeline.job_status.watermark_ms == 2_000 - DELAY_MS - 1


@given(
    watermark_ms=st.integers(1, 2_000) | st.just(NO_WATERMARK_MS),
    newest_ms=st.none() | st.integers(-2_000, 4_000),
    delay_ms=st.integers(0, 3_000),
)
def test_it_is_complete_up_to_the_watermark_that_spark_gives_the_next_batch(
    watermark_ms: int, newest_ms: int | None, delay_ms: int
) -> None:
    clock = BatchClock(1, 1, watermark_ms, 0, watermark_delay_ms=delay_ms).having_read(newest_ms)
    # Spark: MAX(watermark, newest - delay), beginning with 0, which stands for none.
    of_spark = max(0, watermark_ms, -(2**63) if newest_ms is None else newest_ms - delay_ms)
    assert clock.complete_ms == (of_spark or NO_WATERMARK_MS)

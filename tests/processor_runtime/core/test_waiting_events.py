"""Events wait until the batch that reads them, or a later one, shows that all before are there."""

from collections import Counter

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from processor_runtime.rows.event_block import TIME, Arrival, encode_events
from processor_runtime.schedule.batch_clock import NO_WATERMARK_MS, BatchClock
from processor_runtime.state.waiting_events import WaitingBlock, WaitingEvents
from tests.letters import (
    absence,
    event,
    job_of,
    letters,
    processor,
    sequence,
    spelled,
    stream,
    version,
)
from tests.processor_runtime.core.pipeline import DictState, Pipeline


def test_events_wait_until_the_watermark_has_passed_them() -> None:
    job = job_of(version(1, sequence("ab")), delay_ms=100)
    job.batch(letters("ba", 1_000))
    job.batch(letters("b", 1_060))
    assert job.rows == []
    assert sum(status.waiting_events for status in job.statuses.values()) == 3
    job.advance(1_059)
    assert job.rows == []
    job.advance(1_060)
    assert spelled(job.rows) == ["p1 match a1001 b1060"]
    assert sum(status.waiting_events for status in job.statuses.values()) == 0
    assert not any("/w" in name for name in job.state_names)


def test_events_of_equal_time_are_in_the_order_asked_for() -> None:
    backwards = [event("b", 1_000, price=2), event("a", 1_000, price=1)]
    for order_by, expected in (([], []), (["price"], ["p1 match a1000 b1000"])):
        job = Pipeline(stream(order_by=order_by))
        job.publish(processor("p", version(1, sequence("ab"))))
        job.batch(backwards, until_ms=1_100)
        assert spelled(job.rows) == expected


def test_events_of_equal_time_are_else_in_the_order_they_came() -> None:
    job = job_of(version(1, sequence("abc")), delay_ms=50)
    job.batch([event("a", 1_000), event("x", 1_000)])
    job.batch([event("b", 1_000), event("c", 1_000)], partitions=2, until_ms=1_100)
    assert len(job.rows_of("match")) == 1


def blocks_taken(blocks: list[list[int]], watermarks: list[int]) -> list[list[int]]:
    """Return the times taken at each watermark; a block comes in each batch while there are any."""
    state = DictState()
    kept: list[WaitingBlock] = []
    found = []
    for batch_id, watermark_ms in enumerate(watermarks):
        waiting = WaitingEvents("g", state, kept)
        times = blocks[batch_id] if batch_id < len(blocks) else []
        arrived = []
        if times:
            frame = pl.DataFrame({TIME: times})
            arrived = [encode_events("g", Arrival(batch_id, 0), frame)]
        events = waiting.take(watermark_ms, arrived, [])
        found.append([] if events is None else events.get_column(TIME).to_list())
        kept = waiting.blocks
        assert state.keys() == {block.name for block in kept}
        assert waiting.count == sum(block.count for block in kept)
        assert waiting.size_bytes == sum(len(value) for value in state.values())
    return found


@given(
    st.lists(st.lists(st.integers(0, 40), max_size=6), max_size=6),
    st.lists(st.integers(0, 8), min_size=6, max_size=12),
)
def test_every_event_is_taken_once_in_time_order(blocks: list[list[int]], steps: list[int]) -> None:
    watermarks = [sum(steps[: place + 1]) for place in range(len(steps))]
    found = blocks_taken(blocks, [*watermarks, 1_000])
    for times, watermark_ms in zip(found, watermarks, strict=False):
        assert times == sorted(times)
        assert all(time_ms <= watermark_ms for time_ms in times)
    assert Counter(t for times in found for t in times) == Counter(t for b in blocks for t in b)


def test_lost_waiting_events_are_an_error_not_a_gap() -> None:
    lost = WaitingBlock("w1", Arrival(0, 0), 5, 5, 1, 10)
    with pytest.raises(LookupError, match="lost the waiting events w1"):
        WaitingEvents("g", DictState(), [lost]).take(10, [], [])


VALUES = {
    pl.Int64(): st.integers(0, 2),
    pl.String(): st.sampled_from("ab"),
    pl.Float64(): st.sampled_from([0.0, -0.0, 1.0, float("nan")]),
}


@given(st.data())
def test_events_that_come_in_order_or_not_are_as_if_sorted(data: st.DataObject) -> None:
    data_type = data.draw(st.sampled_from([*VALUES]))
    value = st.none() | VALUES[data_type]
    rows = data.draw(st.lists(st.tuples(st.integers(0, 3), value, value), min_size=1, max_size=6))
    if data.draw(st.booleans()):
        rows.sort(key=lambda row: row[0])
    order_by = data.draw(st.sampled_from([[], ["x"], ["x", "y"], ["x", "x"]]))
    schema = {TIME: pl.Int64(), "x": data_type, "y": data_type}
    frame = pl.DataFrame(rows, schema, orient="row").with_row_index("number")
    frame = frame.select(TIME, "x", "y", "number")
    waiting = WaitingEvents("g", DictState(), [])
    found = waiting.take(9, [encode_events("g", Arrival(0, 0), frame)], order_by)
    assert found is not None
    expected = frame.sort(TIME, *order_by, maintain_order=True)
    assert found.get_column("number").to_list() == expected.get_column("number").to_list()


def test_a_block_has_no_texts_of_events_that_are_not_in_it() -> None:
    events = pl.DataFrame({TIME: range(20_000), "text": [f"{n:050}" for n in range(20_000)]})
    for some in (events[700:703], events[[1, 500, 9_000]]):
        assert len(encode_events("g", Arrival(0, 0), some).data) < 2_000


AB = processor("p", version(1, sequence("ab")))
DELAY_MS = 100


def reading_job(*, shards: int = 4, delay_ms: int = DELAY_MS) -> Pipeline:
    return job_of(
        AB, processor("q", version(1, absence("a", "b", 10))), delay_ms=delay_ms, shards=shards
    )


def test_a_match_is_found_by_the_batch_that_reads_it_in_any_order() -> None:
    a, b, x = letters("a", 1_000)[0], letters("b", 1_001)[0], letters("x", 1_102)[0]
    for events in ([a, b, x], [x, b, a]):
        assert spelled(reading_job().batch(events)) == ["p1 match a1000 b1001"]


def test_events_of_the_newest_time_wait_for_others_of_that_time() -> None:
    pipeline = reading_job(delay_ms=0)
    assert pipeline.batch(letters("ab", 1_000)) == []
    assert spelled(pipeline.batch([event("b", 1_001, price=2)])) == []
    assert spelled(pipeline.batch(letters("x", 1_002))) == ["p1 match a1000 b1001"]


def test_what_comes_after_it_is_late_by_what_the_batch_has_read() -> None:
    pipeline = reading_job()
    pipeline.batch(letters("x", 1_101))
    rows = pipeline.batch([*letters("a", 1_000), *letters("a", 1_001), *letters("x", 1_300)])
    # 1000 is the watermark that the first batch has left.
    assert [(row.kind, row.start_ms) for row in rows if row.kind == "late"] == [("late", 1_000)]
    assert spelled(rows) == ["q1 match a1001"]


def test_shards_without_an_event_close_their_windows_in_the_batch_that_shows_the_time() -> None:
    pipeline = reading_job()
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

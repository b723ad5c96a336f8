"""Events wait until the watermark has passed them, and are taken in order of time."""

from collections import Counter

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from processor_runtime.rows.event_block import TIME, Arrival, encode_events
from processor_runtime.state.waiting_events import WaitingBlock, WaitingEvents
from tests.processor_runtime.core.pipeline import DictState, Pipeline
from tests.processor_runtime.core.published import (
    event,
    letters,
    processor,
    sequence,
    spelled,
    stream,
    version,
)


def test_events_wait_until_the_watermark_has_passed_them() -> None:
    job = Pipeline(stream(100))
    job.publish(processor("p", version(1, sequence("ab"))))
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
        job.batch(backwards)
        job.advance(1_100)
        assert spelled(job.rows) == expected


def test_events_of_equal_time_are_else_in_the_order_they_came() -> None:
    job = Pipeline(stream(50))
    job.publish(processor("p", version(1, sequence("abc"))))
    job.batch([event("a", 1_000), event("x", 1_000)])
    job.batch([event("b", 1_000), event("c", 1_000)], partitions=2)
    job.advance(1_100)
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
def test_every_event_is_taken_once_in_order_of_time(
    blocks: list[list[int]], steps: list[int]
) -> None:
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

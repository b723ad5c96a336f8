"""How far a batch reads, and which task reads what: nothing twice, nothing left out."""

import json
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from processor_runtime.kafka.offsets import (
    Place,
    RecordRange,
    advanced,
    divide_ranges,
    document_of,
    positions_of,
    ranges_between,
)

PLACES = st.tuples(st.sampled_from("ab"), st.integers(0, 12))
PARTITIONS = st.dictionaries(
    PLACES, st.lists(st.integers(0, 50), min_size=3, max_size=3).map(sorted), max_size=8
)
"""Of each partition its first record, a place in between, and its end."""
RANGES = st.dictionaries(PLACES, st.tuples(st.integers(0, 50), st.integers(1, 50)), max_size=8)


def test_positions_are_written_as_sparks_connector_does_and_always_in_one_order() -> None:
    positions = {("b", 10): 3, ("b", 9): 1, ("a", 0): 2}
    document = document_of(positions)
    assert json.dumps(document) == '{"a": {"0": 2}, "b": {"9": 1, "10": 3}}'
    assert positions_of(document) == positions
    assert json.dumps(document_of(dict(reversed(positions.items())))) == json.dumps(document)


@given(PARTITIONS, st.integers(1, 60))
def test_a_batch_takes_as_much_as_it_may_and_of_each_partition_its_share(
    partitions: dict[Place, list[int]], limit: int
) -> None:
    first, begin, latest = (
        {place: bounds[index] for place, bounds in partitions.items()} for index in range(3)
    )
    end = advanced(begin, first, latest, limit)
    taken = {place: end[place] - begin[place] for place in begin}
    unread = {place: latest[place] - begin[place] for place in begin}
    total = sum(unread.values())
    assert sum(taken.values()) == min(limit, total)
    assert all(0 <= taken[place] <= unread[place] for place in begin)
    for place, count in unread.items():
        assert taken[place] >= (min(limit, total) * count // total if total else 0)


@given(PARTITIONS, st.integers(1, 60) | st.none())
def test_from_batch_to_batch_each_record_is_read_once_also_of_partitions_that_are_new(
    partitions: dict[Place, list[int]], limit: int | None
) -> None:
    first = {place: bounds[0] for place, bounds in partitions.items()}
    latest = {place: bounds[2] for place, bounds in partitions.items()}
    position: dict[Place, int] = {}
    read: Counter[tuple[Place, int]] = Counter()
    for _ in range(1_000):
        end = advanced(position, first, latest, limit)
        if end == position:
            break
        read.update(
            (each.place, offset)
            for each in ranges_between(position, end)
            for offset in range(each.begin, each.end)
        )
        position = end
    assert read == Counter(
        (place, offset) for place in partitions for offset in range(first[place], latest[place])
    )


@given(RANGES, st.integers(1, 6), st.integers(1, 20))
def test_tasks_divide_ranges_without_loss_or_repetition(
    found: dict[Place, tuple[int, int]], tasks: int, pieces: int
) -> None:
    ranges = [
        RecordRange(*place, begin, begin + length) for place, (begin, length) in found.items()
    ]
    parts = divide_ranges(ranges, tasks, pieces)
    assert len(parts) <= max(tasks, pieces)
    assert all(parts)
    records = Counter(
        (each.place, offset)
        for part in parts
        for each in part
        for offset in range(each.begin, each.end)
    )
    assert records == Counter(
        (each.place, offset) for each in ranges for offset in range(each.begin, each.end)
    )
    if sum(each.length for each in ranges) >= pieces:
        assert len(parts) >= min(pieces, max(tasks, pieces))

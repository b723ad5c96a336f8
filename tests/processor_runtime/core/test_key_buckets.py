"""Keys in buckets: few state accesses, no key lost; where a key lives."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.nfa import StateEncodingError
from cep.nfa.codec import pack
from processor_runtime.rows.key_hashing import (
    bucket_of,
    key_bytes,
    key_hash,
    key_values,
    shard_of,
)
from processor_runtime.state import bucket_count
from processor_runtime.state.bucket_count import KEYS_PER_BUCKET, next_count, origin
from processor_runtime.state.bucket_index import (
    BucketIndex,
    BucketSummary,
    bucket_place,
    read_index,
    write_index,
)
from processor_runtime.state.key_bucket import KeyBucket, KeyEntry
from processor_runtime.state.key_buckets import KeyBuckets
from tests.processor_runtime.core.pipeline import DictState


def entry(deadline_ms: int | None = None, layout: int = 1) -> KeyEntry:
    return KeyEntry(deadline_ms, layout, b"data")


def saved(state: DictState, keys: dict[bytes, KeyEntry | None]) -> KeyBuckets:
    """Put and save; return the buckets as the next batch finds them."""
    buckets = KeyBuckets("g", state, index_in(state))
    for key, kept in keys.items():
        buckets.put(key, kept)
    buckets.save()
    state.put("index", write_index(buckets.index))
    return KeyBuckets("g", state, index_in(state))


@contextmanager
def sizes(per_bucket: int, always_resized: int) -> Iterator[None]:
    """Let buckets be so small, and split and merged in so small steps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bucket_count, "KEYS_PER_BUCKET", per_bucket)
        patch.setattr(bucket_count, "_ALWAYS_RESIZED", always_resized)
        yield


def index_in(state: DictState) -> BucketIndex:
    data = state.get("index")
    return BucketIndex.of() if data is None else read_index(data)


def spread(state: DictState, keys: dict[bytes, KeyEntry], buckets: int) -> KeyBuckets:
    """Put keys into so many buckets, a power of two; return them as the next batch finds them."""
    of_number = [KeyBucket() for _ in range(buckets)]
    for key, kept in keys.items():
        of_number[bucket_of(key_hash("g", key), buckets)].put(key, kept)
    written = [each.write() for each in of_number]
    for number, data in enumerate(written):
        if len(of_number[number]):
            state.put(f"b{number}", data)
    sizes = [len(data) if len(each) else 0 for each, data in zip(of_number, written, strict=True)]
    summaries = [each.summary(size) for each, size in zip(of_number, sizes, strict=True)]
    state.put("index", write_index(BucketIndex.of(summaries)))
    return KeyBuckets("g", state, index_in(state))


def numbered(count: int) -> list[bytes]:
    return [key_bytes((number,)) for number in range(count)]


def test_keys_in_which_matches_wait_are_found_on_demand() -> None:
    waiting, plain = KeyEntry(None, 1, b"w", True), KeyEntry(None, 1, b"p", False)  # noqa: FBT003
    buckets = saved(DictState(), {b"k": plain, b"l": waiting})
    assert dict(buckets.take([], 0, 1, 0, also="holding back")) == {b"l": waiting}
    assert dict(buckets.take([], 0, 1, 0)) == {}
    state = DictState()
    saved(state, {b"k": plain})
    buckets = KeyBuckets("g", state, index_in(state))
    before = state.accesses
    assert dict(buckets.take([], 0, 1, 0, also="holding back")) == {}
    assert state.accesses == before


def test_a_key_comes_back_as_it_was_put() -> None:
    buckets = saved(DictState(), {b"k": KeyEntry(77, 3, b"state"), b"l": entry()})
    taken_entries = dict(buckets.take([b"k", b"stranger"], 0, 0, 0))
    assert taken_entries == {b"k": KeyEntry(77, 3, b"state")}
    assert (buckets.keys, buckets.next_deadline_ms, buckets.oldest_layout) == (2, 77, 1)


def test_buckets_grow_with_the_keys_and_lose_none() -> None:
    state = DictState()
    keys = numbered(5 * KEYS_PER_BUCKET)
    for begin in range(0, len(keys), 100):
        buckets = saved(state, dict.fromkeys(keys[begin : begin + 100], entry()))
    assert len(buckets.index) == 5
    assert max(buckets.index.keys) < 3 * KEYS_PER_BUCKET
    assert {key for key, _ in buckets.take(keys, 0, 0, 0)} == set(keys)
    assert buckets.size_bytes == sum(len(v) for name, v in state.items() if name != "index")


def test_a_batch_reads_only_the_buckets_it_needs() -> None:
    state = DictState()
    saved(state, dict.fromkeys(numbered(20 * KEYS_PER_BUCKET), entry()))
    buckets = saved(state, {b"due": entry(deadline_ms=50)})
    state.accesses = 0
    assert len(buckets.index) > 8
    assert list(buckets.take([], 49, 1, 9)) == []
    assert state.accesses == 0
    assert [key for key, _ in buckets.take([], 50, 1, 9)] == [b"due"]
    assert state.accesses == 1
    list(buckets.take([numbered(1)[0]], 0, 1, 9))
    assert state.accesses <= 2


def test_keys_under_older_layouts_are_swept_a_few_buckets_at_a_time() -> None:
    state = DictState()
    keys = numbered(20 * KEYS_PER_BUCKET)
    buckets = saved(state, dict.fromkeys(keys, entry(layout=1)))
    swept: set[bytes] = set()
    rounds = 0
    while buckets.oldest_layout == 1 and rounds < 100:
        now = {key for key, _ in buckets.take([], 0, 2, 3)}
        assert not now & swept
        buckets = saved(state, dict.fromkeys(now, entry(layout=2)))
        swept |= now
        rounds += 1
    assert swept == set(keys)
    assert rounds == -(-len(buckets.index) // 3)


def test_a_freed_key_is_gone_and_an_empty_bucket_too() -> None:
    state = DictState()
    saved(state, {b"k": entry(5), b"l": entry()})
    buckets = saved(state, {b"k": None, b"never there": None})
    assert (buckets.keys, buckets.next_deadline_ms) == (1, None)
    buckets = saved(state, {b"l": None})
    assert (buckets.keys, buckets.size_bytes, set(state)) == (0, 0, {"index"})


def test_keys_come_back_from_their_bytes_and_spread_over_shards() -> None:
    keys: list[tuple[Any, ...]] = [(), ("u",), (None, 1), (2.5, True, "ü"), ((1, 2),)]
    assert [key_values(key_bytes(key)) for key in keys] == keys
    shards = Counter(shard_of(key_hash("g", key), 8) for key in numbered(8_000))
    assert min(shards.values()) > 800


def test_where_a_key_lives_changes_with_the_format_of_checkpoints_only() -> None:
    assert key_bytes(("alice", 7)).hex() == "92a5616c69636507"
    assert key_hash("global", key_bytes(("alice", 7))) == 0xCF6F6FA4DE0A6E14


def test_a_window_that_ends_behind_all_time_is_never_due() -> None:
    buckets = saved(DictState(), {b"k": entry(2**63 + 5), b"l": entry(2**63 - 2)})
    assert buckets.next_deadline_ms == 2**63 - 2
    assert [key for key, _ in buckets.take([], 2**63 - 1, 1, 0)] == [b"l"]


KEYS = st.sampled_from([b"a", b"b", b"c", b"d", b"e"])
ENTRIES = st.builds(
    KeyEntry,
    st.none() | st.integers(0, 9),
    st.integers(1, 3),
    st.binary(max_size=3),
    st.booleans(),
)


@given(st.lists(st.tuples(KEYS, st.none() | ENTRIES), max_size=20), st.integers(0, 20))
def test_a_bucket_is_a_mapping_that_can_be_written_at_any_time(
    changes: list[tuple[bytes, KeyEntry | None]], written_after: int
) -> None:
    expected: dict[bytes, KeyEntry] = {}
    bucket = KeyBucket()
    for place, (key, kept) in enumerate(changes):
        if place == written_after:
            bucket = KeyBucket.read(bucket.write())
        if kept is None:
            assert bucket.remove(key) is (expected.pop(key, None) is not None)
        else:
            bucket.put(key, kept)
            expected[key] = kept
    bucket = KeyBucket.read(bucket.write())
    assert {key: bucket[key] for key in bucket.keys} == expected
    assert (len(bucket), [key in bucket for key in expected]) == (
        len(expected),
        [True] * len(expected),
    )
    assert set(bucket.due(5)) == {
        key
        for key, kept in expected.items()
        if kept.deadline_ms is not None and kept.deadline_ms <= 5
    }
    assert set(bucket.older_than(2)) == {key for key, kept in expected.items() if kept.layout < 2}
    assert set(bucket.holding_back()) == {key for key, kept in expected.items() if kept.holds_back}
    deadlines = [kept.deadline_ms for kept in expected.values() if kept.deadline_ms is not None]
    assert bucket.summary(9) == BucketSummary(
        min(deadlines, default=None),
        min((kept.layout for kept in expected.values()), default=None),
        len(expected),
        9,
        any(kept.holds_back for kept in expected.values()),
    )


def check_equal(state: DictState, expected: dict[bytes, KeyEntry]) -> None:
    """Compare the buckets in a state, each time as a new batch finds them, with a dict."""
    buckets = KeyBuckets("g", state, index_in(state))
    assert dict(buckets.take([], -1, 0, 0, also="all")) == expected
    due = {k for k, kept in expected.items() if kept.deadline_ms is not None}
    due = {k for k in due if (expected[k].deadline_ms or 0) <= 5}
    buckets = KeyBuckets("g", state, index_in(state))
    assert {key for key, _ in buckets.take([], 5, 0, 0)} == due
    held = {k for k, kept in expected.items() if kept.holds_back}
    assert {key for key, _ in buckets.take([], -1, 0, 0, also="holding back")} == held
    old = {k for k, kept in expected.items() if kept.layout < 2}
    assert {key for key, _ in buckets.take([], -1, 2, 1_000)} == old
    assert buckets.keys == len(expected)
    assert buckets.size_bytes == sum(len(v) for k, v in state.items() if k != "index")
    assert len([name for name in state if name != "index"]) == np.count_nonzero(buckets.index.keys)
    layouts = [kept.layout for kept in expected.values()]
    assert buckets.oldest_layout == min(layouts, default=None)


BATCHES = st.lists(
    st.one_of(
        st.dictionaries(st.integers(0, 60), st.none() | ENTRIES, max_size=60),
        # Many come, or go, at once.
        st.builds(
            lambda numbers, kept: dict.fromkeys(range(numbers), kept),
            st.integers(0, 60),
            st.none() | ENTRIES,
        ),
    ),
    max_size=8,
)


@given(BATCHES, st.integers(0, 3), st.integers(1, 4), st.integers(1, 8))
def test_buckets_are_a_mapping_however_they_are_split_and_merged(
    batches: list[dict[int, KeyEntry | None]],
    power: int,
    per_bucket: int,
    always_resized: int,
) -> None:
    state = DictState()
    expected: dict[bytes, KeyEntry] = {}
    with sizes(per_bucket, always_resized):
        for place, batch in enumerate(batches):
            changes = {key_bytes((number,)): kept for number, kept in batch.items()}
            if place == 0:
                expected = {key: kept for key, kept in changes.items() if kept is not None}
                spread(state, expected, 1 << power)
                continue
            buckets = KeyBuckets("g", state, index_in(state))
            some = {key: expected[key] for key in changes if key in expected}
            assert dict(buckets.take(changes, -1, 0, 0)) == some
            saved(state, changes)
            expected |= {key: kept for key, kept in changes.items() if kept is not None}
            for key in [key for key, kept in changes.items() if kept is None]:
                expected.pop(key, None)
            check_equal(state, expected)


# How many buckets there are


@given(st.integers(0, 2**64 - 1), st.integers(1, 5_000))
def test_a_key_moves_only_to_and_from_the_bucket_that_is_added(hashed: int, buckets: int) -> None:
    place = bucket_place(hashed, buckets)
    assert 0 <= place < buckets
    assert bucket_place(hashed, buckets + 1) in {place, buckets}
    assert origin(bucket_place(hashed, buckets + 1), buckets) == place
    power = 1 << (buckets.bit_length() - 1)
    assert bucket_place(hashed, power) == bucket_of(hashed, power)


@given(st.integers(0, 10_000), st.integers(1, 500), st.integers(0, 500))
def test_no_batch_adds_or_removes_many_buckets(keys: int, buckets: int, changed: int) -> None:
    count = next_count(keys, buckets, changed)
    assert abs(count - buckets) <= 16 + changed // 8
    wanted = max(1, -(-keys // KEYS_PER_BUCKET))
    assert min(wanted, buckets) <= count <= max(wanted, buckets)
    assert (count > buckets) == (wanted > buckets)
    assert (count < buckets) == (4 * wanted < buckets)


def test_buckets_are_few_again_once_keys_are() -> None:
    state = DictState()
    keys = numbered(100 * KEYS_PER_BUCKET)
    buckets = saved(state, dict.fromkeys(keys, entry()))
    assert len(buckets.index) == 100
    buckets = saved(state, dict.fromkeys(keys[20:]))
    while len(buckets.index) > 2:
        count = len(buckets.index)
        buckets = saved(state, {keys[0]: entry()})
        assert len(buckets.index) < count
    assert dict(buckets.take([], -1, 0, 0, also="all")) == dict.fromkeys(keys[:20], entry())
    assert set(state) <= {"index", "b0", "b1"}


# What is not as it was written


def test_a_bucket_that_is_lost_is_no_empty_one() -> None:
    state = DictState()
    saved(state, dict.fromkeys(numbered(10 * KEYS_PER_BUCKET), entry()))
    state.delete("b3")
    buckets = KeyBuckets("g", state, index_in(state))
    with pytest.raises(LookupError, match="bucket 3"):
        list(buckets.take([], 0, 0, 0, also="all"))


@given(st.integers(0, 10_000), st.booleans(), st.sampled_from(["b3", "index"]))
def test_a_value_that_is_cut_off_or_changed_is_told(place: int, is_cut: bool, name: str) -> None:  # noqa: FBT001
    state = DictState()
    keys = {key: KeyEntry(n, 1, b"%d" % n) for n, key in enumerate(numbered(480))}
    saved(state, dict(keys))
    data = bytearray(state[name])
    place %= len(data)
    data = data[:place] if is_cut else data
    if not is_cut:
        data[place] ^= 0xFF
    state.put(name, bytes(data))
    with pytest.raises(StateEncodingError):
        dict(KeyBuckets("g", state, index_in(state)).take([], 0, 0, 0, also="all"))


def test_columns_of_an_index_that_do_not_fit_are_told() -> None:
    for columns in ([b""] * 5, [bytes(8)] * 4 + [bytes(16)]):
        with pytest.raises(StateEncodingError):
            read_index(pack(columns))

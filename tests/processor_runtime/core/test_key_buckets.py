"""Keys in buckets: few state accesses, no key lost; where a key lives."""

from collections import Counter
from dataclasses import astuple
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.nfa.codec import pack, unpack
from processor_runtime.rows.key_hashing import key_bytes, key_hash, key_values, shard_of
from processor_runtime.state import key_buckets
from processor_runtime.state.key_bucket import BucketSummary, KeyBucket, KeyEntry
from processor_runtime.state.key_buckets import KEYS_PER_BUCKET, KeyBuckets
from tests.processor_runtime.core.pipeline import DictState


def entry(deadline_ms: int | None = None, layout: int = 1) -> KeyEntry:
    return KeyEntry(deadline_ms, layout, b"data")


def saved(state: DictState, keys: dict[bytes, KeyEntry | None]) -> KeyBuckets:
    """Put and save; return the buckets as the next batch finds them."""
    buckets = KeyBuckets("g", state, index_in(state))
    for key, kept in keys.items():
        buckets.put(key, kept)
    buckets.save()
    state.put("index", pack([list(astuple(summary)) for summary in buckets.index]))
    return KeyBuckets("g", state, index_in(state))


def index_in(state: DictState) -> list[BucketSummary]:
    data = state.get("index")
    return [BucketSummary()] if data is None else [BucketSummary(*row) for row in unpack(data)]


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
    assert len(buckets.index) == 4
    assert max(summary.keys for summary in buckets.index) < 2 * KEYS_PER_BUCKET
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


def test_where_a_key_lives_never_changes() -> None:
    # Numbers that are in the checkpoints of running jobs.
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


@given(st.lists(st.dictionaries(st.integers(0, 40), st.none() | ENTRIES), max_size=6))
def test_buckets_are_a_mapping_however_few_keys_they_hold(
    batches: list[dict[int, KeyEntry | None]],
) -> None:
    state = DictState()
    expected: dict[bytes, KeyEntry] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(key_buckets, "KEYS_PER_BUCKET", 2)
        for batch in batches:
            changes = {key_bytes((number,)): kept for number, kept in batch.items()}
            buckets = saved(state, changes)
            expected |= {key: kept for key, kept in changes.items() if kept is not None}
            for key in [key for key, kept in changes.items() if kept is None]:
                expected.pop(key, None)
            assert dict(buckets.take([], -1, 0, 0, also="all")) == expected
            some = [key for key in changes if key in expected]
            buckets = KeyBuckets("g", state, index_in(state))
            assert dict(buckets.take(changes, -1, 0, 0)) == {key: expected[key] for key in some}
            due = {
                key
                for key, kept in expected.items()
                if kept.deadline_ms is not None and kept.deadline_ms <= 5
            }
            assert {key for key, _ in buckets.take([], 5, 0, 0)} == due
            assert buckets.size_bytes == sum(len(v) for k, v in state.items() if k != "index")


@pytest.mark.parametrize(
    "written",
    [
        {b"k": [77, 3, b"state"], b"l": [None, 1, b"more", False]},
        [[b"k", b"l"], [77, None], [3, 1], [b"state", b"more"], [True, False]],
    ],
)
def test_a_bucket_of_an_earlier_version_is_read(written: Any) -> None:
    bucket = KeyBucket.read(pack(written))
    expected = {
        b"k": KeyEntry(77, 3, b"state", holds_back=True),
        b"l": KeyEntry(None, 1, b"more", holds_back=False),
    }
    assert {key: bucket[key] for key in bucket.keys} == expected
    again = KeyBucket.read(bucket.write())
    assert {key: again[key] for key in again.keys} == expected

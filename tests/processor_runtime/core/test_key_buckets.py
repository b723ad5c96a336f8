"""Keys in buckets: few state accesses, no key lost; where a key lives."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, date, datetime
from decimal import Decimal
from hashlib import blake2b
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.nfa.codec import pack, sealed, unpack
from cep.nfa.errors import StateEncodingError
from processor_runtime.rows.key_hashing import key_bytes, key_hash, key_values, shard_of
from processor_runtime.stages.key_stage import key_shards
from processor_runtime.state import bucket_count, key_buckets
from processor_runtime.state.bucket_count import KEYS_PER_BUCKET, next_count, origin
from processor_runtime.state.bucket_index import NEVER, BucketIndex, read_index, write_index
from processor_runtime.state.compression import compressed, uncompressed
from processor_runtime.state.key_buckets import (
    AlsoTaken,
    BatchKeys,
    HeldEntries,
    KeyPlace,
    PackedKeys,
    take_keys,
)
from tests.processor_runtime.core.pipeline import DictState


class Entry(NamedTuple):
    """What a key holds: never nothing."""

    deadline_ms: int | None = None
    layout: int = 1
    data: bytes = b"data"
    holds_back: bool = False


def index_in(state: DictState) -> BucketIndex:
    data = state.get("index")
    return BucketIndex.empty() if data is None else read_index(data)


def taken(  # noqa: PLR0913 - as what it calls
    state: DictState,
    keys: Iterable[bytes] = (),
    *,
    due_ms: int = -1,
    older_than: int = 0,
    sweep: int = 0,
    also: AlsoTaken = "none",
) -> BatchKeys:
    """Take keys as a batch does."""
    place = KeyPlace("g", state, index_in(state))
    return take_keys(
        place, PackedKeys.of(keys), due_ms, older_than_layout=older_than, sweep=sweep, also=also
    )


def entries_of(batch: BatchKeys) -> dict[bytes, bytes]:
    """Return the entry of each key that has one, and see that no key comes twice."""
    spans, _ = batch.entries()
    entries = [batch.data[begin:end] for begin, end in spans.tolist()]
    keys = [batch.key(number) for number in range(len(batch))]
    assert len(set(keys)) == len(keys)
    return {key: entry for key, entry in zip(keys, entries, strict=True) if entry}


def saved(state: DictState, keys: Mapping[bytes, Entry | None]) -> BucketIndex:
    """Let a batch have these keys, all of one layout, and save what they hold then."""
    batch, each = taken(state, keys), list(keys.values())
    data = [b"" if entry is None else entry.data for entry in each]
    deadlines_ms = [NEVER if entry is None else entry.deadline_ms for entry in each]
    held = HeldEntries(
        b"".join(data),
        np.array([0, *accumulate(map(len, data))]),
        np.array([NEVER if time is None else time for time in deadlines_ms], np.int64),
        np.array([entry is not None and entry.holds_back for entry in each], np.bool_),
    )
    batch.save(held, next((entry.layout for entry in each if entry is not None), 1))
    state.put("index", write_index(batch.place.index))
    return index_in(state)


@contextmanager
def sizes(per_bucket: int, always_resized: int) -> Iterator[None]:
    """Let buckets be so small, and split and merged in so small steps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bucket_count, "KEYS_PER_BUCKET", per_bucket)
        patch.setattr(bucket_count, "_ALWAYS_RESIZED", always_resized)
        patch.setattr(key_buckets, "_TOGETHER", 3)
        yield


def numbered(count: int) -> list[bytes]:
    return [key_bytes((number,)) for number in range(count)]


def test_keys_in_which_matches_wait_are_found_on_demand() -> None:
    state = DictState()
    saved(state, {b"k": Entry(data=b"p"), b"l": Entry(data=b"w", holds_back=True)})
    assert entries_of(taken(state, also="holding back")) == {b"l": b"w"}
    assert entries_of(taken(state)) == {}
    saved(state, {b"l": None})
    before = state.accesses
    assert entries_of(taken(state, also="holding back")) == {}
    assert state.accesses == before + 1  # of the index


def test_buckets_grow_with_the_keys_and_lose_none() -> None:
    state = DictState()
    keys = numbered(5 * KEYS_PER_BUCKET)
    for begin in range(0, len(keys), 100):
        index = saved(state, dict.fromkeys(keys[begin : begin + 100], Entry()))
    assert len(index) == 5
    assert max(index.keys) < 3 * KEYS_PER_BUCKET
    assert entries_of(taken(state, keys)).keys() == set(keys)
    assert index.size_bytes == sum(len(v) for name, v in state.items() if name != "index")


def test_a_batch_reads_and_writes_only_the_buckets_it_needs() -> None:
    state = DictState()
    saved(state, dict.fromkeys(numbered(20 * KEYS_PER_BUCKET), Entry()))
    index = saved(state, {b"due": Entry(deadline_ms=50)})
    assert len(index) > 8
    for due_ms, keys, found, reads in (
        (49, [], [], 0),
        (50, [], [b"due"], 1),
        (0, numbered(1), numbered(1), 1),
    ):
        state.accesses = 0
        batch = taken(state, keys, due_ms=due_ms, older_than=1, sweep=9)
        assert (list(entries_of(batch)), state.accesses) == (found, reads + 1)
    state.accesses = 0
    saved(state, dict.fromkeys(numbered(5), Entry()))
    assert state.accesses <= 2 * 5 + 3
    state.accesses = 0
    saved(state, {b"never there": None})
    assert state.accesses <= 1 + 1 + 1 + 1


def test_keys_under_older_layouts_are_swept_a_few_buckets_at_a_time() -> None:
    state = DictState()
    keys = numbered(20 * KEYS_PER_BUCKET)
    index = saved(state, dict.fromkeys(keys, Entry(layout=1)))
    swept: set[bytes] = set()
    rounds = 0
    while index.oldest_layout == 1 and rounds < 100:
        now = entries_of(taken(state, older_than=2, sweep=3)).keys()
        assert not now & swept
        index = saved(state, dict.fromkeys(now, Entry(layout=2)))
        swept |= now
        rounds += 1
    assert swept == set(keys)
    assert rounds == -(-len(index) // 3)


def test_keys_come_back_from_their_bytes_and_spread_over_shards() -> None:
    keys: list[tuple[Any, ...]] = [(), ("u",), (None, 1), (2.5, True, "ü"), ((1, 2),)]
    assert [key_values(key_bytes(key)) for key in keys] == keys
    shards = Counter(shard_of(key_hash("g", key), 8) for key in numbered(8_000))
    assert min(shards.values()) > 800


def test_where_a_key_lives_changes_with_the_format_of_checkpoints_only() -> None:
    assert key_bytes(("alice", 7)).hex() == "92a5616c69636507"
    assert key_hash("global", key_bytes(("alice", 7))) == 0xCF6F6FA4DE0A6E14


def test_a_window_that_ends_behind_all_time_is_never_due() -> None:
    state = DictState()
    index = saved(state, {b"k": Entry(NEVER), b"l": Entry(NEVER - 1)})
    assert index.next_deadline_ms == NEVER - 1
    batch = taken(state, due_ms=NEVER)
    assert list(entries_of(batch)) == [b"l"]
    assert batch.due(NEVER).tolist() == [True]


def test_keys_of_one_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    def one_hash(_group: str, keys: Iterable[bytes]) -> Any:
        return np.full(len(list(keys)), 7, np.uint64)

    monkeypatch.setattr(key_buckets, "key_hashes", one_hash)
    state = DictState()
    saved(state, {b"a": Entry(data=b"1"), b"b": Entry(data=b"2"), b"ab": Entry(data=b"3")})
    saved(state, {b"b": None, b"c": Entry(data=b"4"), b"ab": Entry(data=b"5")})
    batch = taken(state, [b"c", b"b", b"ab", b"d"])
    assert entries_of(batch) == {b"c": b"4", b"ab": b"5"}
    assert entries_of(taken(state, also="all")) == {b"a": b"1", b"c": b"4", b"ab": b"5"}


ENTRIES = st.builds(
    Entry,
    st.none() | st.integers(0, 9),
    st.just(1),
    st.binary(min_size=1, max_size=20),
    st.booleans(),
)
BATCHES = st.lists(
    st.tuples(
        st.integers(1, 3),
        st.one_of(
            st.dictionaries(st.integers(0, 60), st.none() | ENTRIES, max_size=60),
            # Many come, or go, at once.
            st.builds(
                lambda numbers, entry: dict.fromkeys(range(numbers), entry),
                st.integers(0, 60),
                st.none() | ENTRIES,
            ),
        ),
    ),
    max_size=8,
)


@given(BATCHES, st.integers(1, 4), st.integers(1, 8))
def test_buckets_are_a_mapping_however_they_are_split_and_merged(
    batches: list[tuple[int, dict[int, Entry | None]]], per_bucket: int, always_resized: int
) -> None:
    state = DictState()
    expected: dict[bytes, Entry] = {}
    with sizes(per_bucket, always_resized):
        for layout, batch in batches:
            changes = {
                b"k" * (number % 7) + key_bytes((number,)): entry and entry._replace(layout=layout)
                for number, entry in batch.items()
            }
            some = {key: expected[key].data for key in changes if key in expected}
            assert entries_of(taken(state, changes)) == some
            index = saved(state, changes)
            expected |= {key: entry for key, entry in changes.items() if entry is not None}
            for key in [key for key, entry in changes.items() if entry is None]:
                expected.pop(key, None)
            check_equal(state, index, expected)


def check_equal(state: DictState, index: BucketIndex, expected: dict[bytes, Entry]) -> None:
    """Compare the buckets in a state, each time as a new batch finds them, with a dict."""

    def some(keys: Iterable[bytes]) -> dict[bytes, bytes]:
        return {key: expected[key].data for key in keys}

    assert entries_of(taken(state, also="all")) == some(expected)
    times = {k: entry.deadline_ms for k, entry in expected.items() if entry.deadline_ms is not None}
    batch = taken(state, [b"stranger"], due_ms=5)
    assert entries_of(batch) == some(k for k, time_ms in times.items() if time_ms <= 5)
    assert batch.due(5).tolist() == [False] + [True] * (len(batch) - 1)
    held = [k for k, entry in expected.items() if entry.holds_back]
    assert entries_of(taken(state, also="holding back")) == some(held)
    old = [k for k, entry in expected.items() if entry.layout < 2]
    assert entries_of(taken(state, older_than=2, sweep=1_000)) == some(old)
    assert index.key_count == len(expected)
    assert index.size_bytes == sum(len(v) for k, v in state.items() if k != "index")
    assert len([name for name in state if name != "index"]) == np.count_nonzero(index.keys)
    layouts = [entry.layout for entry in expected.values()]
    assert index.oldest_layout == min(layouts, default=None)
    assert index.next_deadline_ms == min(times.values(), default=None)


# How many buckets there are


@given(st.integers(0, 2**64 - 1), st.integers(1, 5_000))
def test_a_key_moves_only_to_and_from_the_bucket_that_is_added(hashed: int, buckets: int) -> None:
    def place_of(count: int) -> int:
        return int(BucketIndex.empty(count).places(np.array([hashed], np.uint64))[0])

    place = place_of(buckets)
    assert 0 <= place < buckets
    assert place_of(buckets + 1) in {place, buckets}
    assert origin(place_of(buckets + 1), buckets) == place
    power = 1 << (buckets.bit_length() - 1)
    assert place_of(power) == (hashed & 0xFFFF_FFFF) % power


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
    index = saved(state, dict.fromkeys(keys, Entry()))
    assert len(index) == 100
    index = saved(state, dict.fromkeys(keys[20:]))
    while len(index) > 2:
        count = len(index)
        index = saved(state, {keys[0]: Entry()})
        assert len(index) < count
    assert entries_of(taken(state, also="all")) == dict.fromkeys(keys[:20], b"data")
    assert set(state) <= {"index", "b0", "b1"}


# What is not as it was written


def test_a_bucket_that_is_lost_is_no_empty_one() -> None:
    state = DictState()
    saved(state, dict.fromkeys(numbered(10 * KEYS_PER_BUCKET), Entry()))
    state.delete("b3")
    with pytest.raises(LookupError, match="bucket 3"):
        taken(state, also="all")


@given(st.integers(0, 10_000), st.booleans(), st.sampled_from(["b3", "index"]))
def test_a_value_that_is_cut_off_or_changed_is_told(place: int, is_cut: bool, name: str) -> None:  # noqa: FBT001
    state = DictState()
    saved(state, {key: Entry(n, 1, b"%d" % n) for n, key in enumerate(numbered(480))})
    data = bytearray(state[name])
    place %= len(data)
    data = data[:place] if is_cut else data
    if not is_cut:
        data[place] ^= 0xFF
    state.put(name, bytes(data))
    with pytest.raises(StateEncodingError):
        taken(state, also="all")


@given(st.integers(0, 400), st.integers(-2, 2**40), st.integers(0, 20))
def test_a_bucket_whose_checksum_fits_and_nothing_else_is_told_or_read(
    place: int, number: int, cut: int
) -> None:
    state = DictState()
    saved(state, {b"k%d" % n: Entry(n, 1, b"data%d" % n) for n in range(9)})
    content = bytearray(uncompressed(state["b0"])[len(sealed(b"")) :])
    place %= len(content) // 8
    content[8 * place : 8 * place + 8] = number.to_bytes(8, "little", signed=True)
    state.put("b0", compressed(sealed(bytes(content[: len(content) - cut]))))
    try:
        batch = taken(state, also="all")
    except StateEncodingError:
        return
    assert cut == 0
    assert len(batch.data) == len(content)
    assert all(0 <= a <= b <= len(content) for a, b in batch.entries()[0].tolist())


def test_columns_of_an_index_that_do_not_fit_are_told() -> None:
    for columns in ([b""] * 5, [bytes(8)] * 4 + [bytes(16)]):
        with pytest.raises(StateEncodingError):
            read_index(pack(columns))


@given(st.lists(st.binary(max_size=50) | st.integers(0, 9), max_size=50))
def test_what_was_compressed_comes_back(values: list[bytes | int]) -> None:
    assert unpack(uncompressed(compressed(pack(values)))) == values


def test_what_never_was_compressed_is_left_as_it_is() -> None:
    assert uncompressed(pack(["x"])) == pack(["x"])


def test_a_broken_value_is_told_of() -> None:
    whole = compressed(pack(["some text"] * 20))
    for place, byte in enumerate(whole):
        changed = [bytes([byte ^ flipped]) + whole[place + 1 :] for flipped in (1, 0x55, 0xFF)]
        for rest in (b"", *changed):
            with pytest.raises(StateEncodingError):
                unpack(uncompressed(whole[:place] + rest))


GROUP = "by value"
NUMBERS = [*range(50)]


def shards_of(values: pl.Series, shards: int) -> list[int]:
    return key_shards(GROUP, pl.DataFrame({"value": values}), shards).to_list()


def expected(values: pl.Series, shards: int) -> list[int]:
    return [shard_of(key_hash(GROUP, key_bytes((value,))), shards) for value in values]


def test_equal_keys_of_other_types_have_shards_of_their_own() -> None:
    for data_type in (pl.Int64, pl.Float64, pl.Int64):
        values = pl.Series(NUMBERS).cast(data_type)
        assert shards_of(values, 7) == expected(values, 7)
    assert shards_of(pl.Series([False, True]), 7) == expected(pl.Series([False, True]), 7)


@pytest.mark.parametrize(
    "values",
    [
        pl.Series([*NUMBERS, None, -1, 2**63 - 1, *NUMBERS]),
        pl.Series([0.5, -0.5, None, 1e300]),
        pl.Series([*map(str, NUMBERS), None, "", "ü", "x" * 300]),
        pl.Series([True, None, False]),
        pl.Series([b"", b"\0", None, b"x" * 70_000]),
        pl.Series([date(1, 1, 1), date(2026, 11, 27), None, date(9999, 12, 31)]),
        pl.Series([datetime(2026, 11, 27, 1, 2, 3, 4), datetime(1, 1, 1), None]),  # noqa: DTZ001
        pl.Series([datetime(2026, 11, 27, tzinfo=UTC), None]),
        pl.Series([Decimal("-1.50"), Decimal("1234567890123456789.01"), None]),
    ],
)
def test_a_key_has_the_shard_of_its_bytes(values: pl.Series) -> None:
    for shards in (1, 2, 7, 2):
        assert shards_of(values, shards) == expected(values, shards)


def test_keys_may_have_several_parts() -> None:
    keys = pl.DataFrame({"user": [1, None, 1, 2], "shop": ["a", "b", "a", None]})
    shards = key_shards(GROUP, keys, 5).to_list()
    assert shards == [shard_of(key_hash(GROUP, key_bytes(row)), 5) for row in keys.rows()]


def test_the_hash_of_a_key_is_blake2b_under_its_group() -> None:
    assert key_hash("g", b"k") == int.from_bytes(blake2b(b"k", digest_size=8, key=b"g").digest())

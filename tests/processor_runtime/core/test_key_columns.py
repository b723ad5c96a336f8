"""Keys in columns: the same buckets as key by key, whichever way goes over them."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.nfa import StateEncodingError
from cep.nfa.codec import pack_values, unpack_values
from cep.nfa_kernel.bucket_rows import (
    ROW_BEGIN,
    ROW_END,
    ROW_KEY_BEGIN,
    ROW_KEY_END,
    buckets_of,
    rows_of,
)
from cep.nfa_kernel.entry_summaries import NO_DEADLINE
from processor_runtime.rows.key_hashing import key_bytes
from processor_runtime.state.bucket_index import write_index
from processor_runtime.state.compression import uncompressed
from processor_runtime.state.key_bucket import KeyBucket, KeyEntry, content_of
from processor_runtime.state.key_columns import (
    BucketPlace,
    KeptEntries,
    KeyColumns,
    PackedKeys,
    take_keys,
)
from tests.processor_runtime.core.pipeline import DictState
from tests.processor_runtime.core.test_key_buckets import (
    check_equal,
    index_in,
    numbered,
    saved,
    sizes,
    spread,
)

NOTHING = np.frombuffer(b"", np.uint8)  # read only, as all bytes are that come from elsewhere


def packed(keys: Sequence[bytes]) -> PackedKeys:
    ends = np.cumsum([0, *map(len, keys)], dtype=np.int64)
    spans = np.stack([ends[:-1], ends[1:]], axis=1)
    return PackedKeys(np.frombuffer(b"".join(keys), np.uint8), spans)


def columns_of(
    state: DictState,
    keys: Sequence[bytes],
    *,
    due_ms: int = -1,
    older_than: int = 0,
    sweep: int = 0,
) -> KeyColumns:
    """Take keys as a batch does."""
    place = BucketPlace("g", state, index_in(state))
    columns = take_keys(place, packed(keys), due_ms, older_than, sweep)
    assert columns is not None
    return columns


def held(columns: KeyColumns) -> dict[bytes, bytes]:
    """Return what keys hold, those that hold anything."""
    spans, _ = columns.entries()
    entries = [columns.joined[begin:end] for begin, end in spans.tolist()]
    return {columns.key(number): data for number, data in enumerate(entries) if data}


def keep(state: DictState, columns: KeyColumns, kept: Sequence[KeyEntry | None]) -> None:
    """Save what keys hold now, all of one layout."""
    entries = packed([b"" if each is None else each.data for each in kept])
    deadlines_ms = [each.deadline_ms if each is not None else None for each in kept]
    columns.save(
        KeptEntries(
            entries.data,
            np.append(entries.spans[:, 0], len(entries.data)),
            np.array([NO_DEADLINE if each is None else each for each in deadlines_ms], np.int64),
            np.array([each is not None and each.holds_back for each in kept], np.int64),
        ),
        next((each.layout for each in kept if each is not None), 1),
    )
    state.put("index", write_index(columns.place.index))


ENTRIES = st.builds(
    KeyEntry,
    st.none() | st.integers(0, 9),
    st.just(1),
    st.binary(min_size=1, max_size=3),
    st.booleans(),
)
BATCHES = st.lists(
    st.tuples(
        st.booleans(),
        st.integers(1, 3),
        st.one_of(
            st.dictionaries(st.integers(0, 60), st.none() | ENTRIES, max_size=60),
            st.builds(
                lambda numbers, kept: dict.fromkeys(range(numbers), kept),
                st.integers(0, 60),
                st.none() | ENTRIES,
            ),
        ),
    ),
    max_size=8,
)


@given(BATCHES, st.integers(0, 3), st.integers(1, 4), st.integers(1, 8))
def test_buckets_are_the_same_mapping_in_columns_and_key_by_key(
    batches: list[tuple[bool, int, dict[int, KeyEntry | None]]],
    power: int,
    per_bucket: int,
    always_resized: int,
) -> None:
    state = DictState()
    expected: dict[bytes, KeyEntry] = {}
    spread(state, expected, 1 << power)
    with sizes(per_bucket, always_resized):
        for in_columns, layout, batch in batches:
            changes = {
                key_bytes((number,)): None if kept is None else kept._replace(layout=layout)
                for number, kept in batch.items()
            }
            if in_columns:
                columns = columns_of(state, list(changes))
                some = {key: expected[key].data for key in changes if key in expected}
                assert held(columns) == some
                keep(state, columns, list(changes.values()))
            else:
                saved(state, changes)
            expected |= {key: kept for key, kept in changes.items() if kept is not None}
            for key in [key for key, kept in changes.items() if kept is None]:
                expected.pop(key, None)
            check_equal(state, expected)
            check_others(state, expected)


def check_others(state: DictState, expected: dict[bytes, KeyEntry]) -> None:
    """Compare what is taken beside the keys that are asked for with a dict."""
    due = {k for k, each in expected.items() if each.deadline_ms is not None}
    due = {k for k in due if (expected[k].deadline_ms or 0) <= 5}
    columns = columns_of(state, [b"stranger"], due_ms=5)
    assert held(columns) == {key: expected[key].data for key in due}
    assert [columns.key(n) for n in np.flatnonzero(columns.due(5)).tolist()] == list(held(columns))
    old = {k for k, each in expected.items() if each.layout < 2}
    columns = columns_of(state, [], older_than=2, sweep=1_000)
    assert held(columns) == {key: expected[key].data for key in old}
    assert not held(columns_of(state, [], older_than=2))


def test_few_buckets_are_read_and_written() -> None:
    state = DictState()
    keys = dict.fromkeys(numbered(5_000), KeyEntry(None, 1, b"data"))
    keep(state, columns_of(state, list(keys)), list(keys.values()))
    check_equal(state, keys)
    before = state.accesses
    some = numbered(5_000)[::1_000]
    keep(state, columns_of(state, some), [keys[key] for key in some])
    # The index is read once more here, and written.
    assert state.accesses - before <= 2 * len(some) + 2


def test_a_batch_that_changes_nothing_writes_nothing() -> None:
    state = DictState()
    saved(state, {b"k": KeyEntry(7, 1, b"data")})
    before = state.accesses
    columns_of(state, [b"l"]).save(
        KeptEntries(NOTHING, np.zeros(2, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64)), 1
    )
    assert state.accesses == before + 1 + (columns_of(state, []).place.index.keys > 0).sum()


def test_a_lost_or_corrupt_bucket_is_an_error() -> None:
    state = DictState()
    saved(state, {b"k": KeyEntry(7, 1, b"data")})
    (name,) = [name for name in state if name != "index"]
    data = state[name]
    state[name] = data[:-1] + bytes([data[-1] ^ 1])
    with pytest.raises(StateEncodingError, match="checksum"):
        columns_of(state, [b"k"])
    del state[name]
    with pytest.raises(LookupError, match="the state has lost the bucket"):
        columns_of(state, [b"k"])


def test_a_deadline_behind_all_time_is_left_to_python() -> None:
    state = DictState()
    saved(state, {b"k": KeyEntry(2**62, 1, b"data")})
    assert take_keys(BucketPlace("g", state, index_in(state)), packed([b"k"]), -1, 0, 0) is None


def test_buckets_that_only_python_reads_are_not_split_by_others() -> None:
    state = DictState()
    odd: dict[bytes, KeyEntry | None] = {b"odd": KeyEntry(2**62, 1, b"data")}
    saved(state, odd | dict.fromkeys(numbered(100), KeyEntry(None, 1, b"data")))
    index = index_in(state)
    hashes = BucketPlace("g", state, index).hashes(packed([b"odd", *numbered(4_000)]))
    of_odd, *of_others = index.places(hashes).tolist()
    others = [key for key, n in zip(numbered(4_000), of_others, strict=True) if n != of_odd]
    assert len(others) > 2_000
    entry = KeyEntry(None, 1, b"data")
    keep(state, columns_of(state, others), [entry] * len(others))
    expected = dict.fromkeys([*numbered(100), *others], entry)
    check_equal(state, expected | {b"odd": KeyEntry(2**62, 1, b"data")})
    assert len(index_in(state)) == len(index)
    # Python splits them when it comes by.
    assert len(saved(state, odd).index) > len(index)


# In compiled code


CONTENTS = st.lists(
    st.dictionaries(
        st.binary(max_size=300),
        st.builds(
            KeyEntry,
            st.none() | st.integers(-(2**63), 2**62 - 1),
            st.integers(1, 3),
            st.binary(max_size=300),
            st.booleans(),
        ),
        min_size=1,
        max_size=20,
    ),
    max_size=4,
)


@given(CONTENTS)
def test_a_bucket_is_written_as_it_is_read(contents: list[dict[bytes, KeyEntry]]) -> None:
    buckets = []
    for content in contents:
        bucket = KeyBucket()
        for key, kept in content.items():
            bucket.put(key, kept)
        buckets.append(content_of(bucket.write()))
    joined = packed(buckets)
    begins = np.append(joined.spans[:, 0], len(joined.data))
    read = rows_of(joined.data, begins, np.arange(len(buckets)))
    assert read.could
    again, places = buckets_of(read.rows, read.first, joined.data, NOTHING, NOTHING)
    assert (again.tobytes(), places.tolist()) == (joined.data.tobytes(), begins.tolist())
    assert [
        again[begin:end].tobytes() for begin, end in read.rows[:, [ROW_KEY_BEGIN, ROW_KEY_END]]
    ] == [key for content in contents for key in content]


@given(st.binary(max_size=60), st.integers(0, 60), st.integers(0, 255))
def test_spoiled_buckets_are_refused_or_read_as_python_reads_them(
    end: bytes, place: int, byte: int
) -> None:
    bucket = KeyBucket()
    for number in range(3):
        bucket.put(b"k%d" % number, KeyEntry(number or None, 1, b"data", bool(number % 2)))
    content = bytearray(content_of(bucket.write()))
    content[place % len(content)] = byte
    spoiled = bytes(content[: max(1, len(content) - len(end))] + end)
    read = rows_of(np.frombuffer(spoiled, np.uint8), np.array([0, len(spoiled)]), np.zeros(1, int))
    if not read.could:
        return
    keys, _, _, entries, _ = unpack_values(spoiled)
    spans = read.rows[:, [ROW_KEY_BEGIN, ROW_KEY_END, ROW_BEGIN, ROW_END]].tolist()
    assert [spoiled[first:last] for first, last, _, _ in spans] == keys
    assert [spoiled[first:last] for _, _, first, last in spans] == entries
    assert pack_values(unpack_values(spoiled))


def test_buckets_are_compressed_as_key_by_key() -> None:
    state = DictState()
    keep(state, columns_of(state, [b"k"]), [KeyEntry(7, 1, b"data" * 50)])
    (data,) = [value for name, value in state.items() if name != "index"]
    assert data != uncompressed(data)
    assert KeyBucket.read(data).get(b"k") == KeyEntry(7, 1, b"data" * 50)

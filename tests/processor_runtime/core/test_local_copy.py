"""A copy of buckets on a worker's machine: exact or not used, whatever becomes of batches."""

import logging
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.nfa.codec import pack
from processor_runtime.state import local_copy
from processor_runtime.state.key_bucket import bucket_name, is_bucket_name
from processor_runtime.state.keyed_state import KeyedState
from processor_runtime.state.local_copy import copied
from processor_runtime.state.memory import StateInMemory
from processor_runtime.state.value_file import ValueFile

MANY = 2
NAMES = [*(f"g/{bucket_name(number)}" for number in range(7)), "g/header"]
Change = tuple[Literal["put_many", "put", "get_many", "get"], dict[str, bytes | None]]


@pytest.fixture(scope="module", autouse=True)
def _small_files() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_copy, "_MANY", MANY)
        patch.setattr(local_copy, "_UNUSED_BYTES", 30)
        patch.setattr(local_copy, "_MOST_BYTES", 200)
        patch.setattr(local_copy, "_MOVED_TOGETHER", 2)
        yield


class CountingState(StateInMemory):
    """The state of a shard, and which values were asked for."""

    def __init__(self, values: dict[str, bytes]) -> None:
        super().__init__(values)
        self.asked: list[str] = []

    def get_many(self, names: Sequence[str]) -> list[bytes | None]:
        self.asked += names
        return super().get_many(names)


@dataclass(frozen=True)
class Batch:
    """What a batch does on a machine, what another attempt does meanwhile, and how it ends."""

    machine: int
    changes: list[Change]
    meanwhile: list[Change] | None
    ending: Literal["committed", "lost", "raises"]


CHANGES = st.tuples(
    st.sampled_from(["put_many", "put_many", "put", "get_many", "get_many", "get"]),
    st.dictionaries(
        st.sampled_from(NAMES), st.none() | st.binary(max_size=12), min_size=1, max_size=len(NAMES)
    ),
)
BATCHES = st.builds(
    Batch,
    st.integers(0, 2),
    st.lists(CHANGES, max_size=5),
    st.none() | st.lists(CHANGES, max_size=3),
    st.sampled_from(["committed", "committed", "committed", "lost", "raises"]),
)


class BatchError(Exception):
    """Ends a batch."""


def apply(state: KeyedState, expected: dict[str, bytes], changes: Sequence[Change]) -> None:
    """Make changes to both; what is read in between must be the same."""
    for kind, values in changes:
        first, value = next(iter(values.items()))
        if kind == "get":
            assert state.get(first) == expected.get(first)
        elif kind == "get_many":
            assert state.get_many(list(values)) == [expected.get(name) for name in values]
        else:
            changed = values if kind == "put_many" else {first: value}
            if kind == "put_many":
                state.put_many(changed)
            elif value is None:
                state.delete(first)
            else:
                state.put(first, value)
            for name, new in changed.items():
                expected.pop(name, None)
                if new is not None:
                    expected[name] = new


@given(st.lists(BATCHES, max_size=8))
def test_it_reads_as_the_state_itself_does(batches: list[Batch]) -> None:
    committed: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory() as directory:
        for batch in batches:
            index_path = index_of(directory, batch.machine)
            state, expected = StateInMemory(committed), plain(committed)
            try:
                with copied(state, index_path, is_bucket_name) as copy:
                    apply(copy, expected, batch.changes)
                    if batch.meanwhile is not None:
                        other = StateInMemory(committed)
                        with copied(other, index_path, is_bucket_name) as its_copy:
                            apply(its_copy, plain(committed), batch.meanwhile)
                    if batch.ending == "raises":
                        end_batch()
            except BatchError:
                continue
            assert plain(state) == expected
            if batch.ending == "committed":
                committed = dict(state)
        for machine in range(3):
            index_path = index_of(directory, machine)
            with copied(StateInMemory(committed), index_path, is_bucket_name) as copy:
                assert copy.get_many(NAMES) == [committed.get(name) for name in NAMES]


def index_of(directory: str, machine: int) -> Path | None:
    """Return where a machine has its index; the last one has no place for it."""
    return None if machine == 2 else Path(directory, str(machine), "shard-0.index")


def end_batch() -> NoReturn:
    raise BatchError


def plain(state: dict[str, bytes]) -> dict[str, bytes]:
    """Return what a state has but for what tells which copies are right."""
    return {name: value for name, value in state.items() if name in NAMES}


@dataclass
class Shard:
    """A shard on one machine whose batches all succeed."""

    index_path: Path
    values: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def batch(self, *changes: Change) -> None:
        """Make changes, and check what is read."""
        state = CountingState(self.values)
        with copied(state, self.index_path, is_bucket_name) as copy:
            apply(copy, plain(self.values), changes)
        self.values, self.asked = dict(state), state.asked

    def asked_for(self, *names: str) -> list[str]:
        """Return which of these buckets a batch that reads all of them has from the state."""
        self.batch(("get_many", dict.fromkeys(names)))
        return [name for name in self.asked if name in names]


BUCKETS = NAMES[:-1]


@pytest.fixture
def shard(tmp_path: Path) -> Shard:
    shard = Shard(tmp_path / "own" / "shard-0.index")
    shard.batch(("put_many", {name: name.encode() * 2 for name in BUCKETS}))
    return shard


def test_what_many_were_written_or_read_is_not_asked_for_again(shard: Shard) -> None:
    assert shard.asked_for(*BUCKETS) == []
    shard.batch(("put_many", dict.fromkeys(BUCKETS[:2], b"new")))
    assert shard.asked_for(*BUCKETS) == []
    shard.index_path.unlink()
    assert shard.asked_for(*BUCKETS) == BUCKETS
    assert shard.asked_for(*BUCKETS) == []


def test_a_value_that_is_written_alone_is_asked_for(shard: Shard) -> None:
    shard.batch(("put", {BUCKETS[0]: b"new"}))
    assert shard.asked_for(*BUCKETS) == [BUCKETS[0]]


def test_a_batch_that_touches_no_bucket_neither_reads_nor_writes_files(shard: Shard) -> None:
    before = shard.index_path.stat().st_mtime_ns
    shard.batch(("put", {"g/header": b"x"}), ("get", {"g/header": None}))
    assert shard.asked == ["g/header"]
    assert shard.index_path.stat().st_mtime_ns == before
    assert shard.asked_for(*BUCKETS) == []


def test_a_change_where_there_are_no_files_is_known_where_there_are(shard: Shard) -> None:
    state = StateInMemory(shard.values)
    with copied(state, None, is_bucket_name) as copy:
        copy.put_many({BUCKETS[0]: b"new", BUCKETS[1]: None})
        assert copy.get_many(BUCKETS[:2]) == [b"new", None]
    shard.values = dict(state)
    assert shard.asked_for(*BUCKETS) == BUCKETS


def test_few_values_get_no_files(tmp_path: Path) -> None:
    shard = Shard(tmp_path / "own" / "shard-0.index")
    shard.batch(("put_many", {BUCKETS[0]: b"x"}), ("get", {BUCKETS[0]: None}))
    assert not shard.index_path.parent.exists()
    assert shard.values == {BUCKETS[0]: b"x"}


def test_no_one_else_may_read_the_files(shard: Shard) -> None:
    assert shard.index_path.parent.stat().st_mode & 0o777 == 0o700


def test_files_do_not_grow_with_batches(shard: Shard) -> None:
    for number in range(40):
        shard.batch(("put_many", dict.fromkeys(BUCKETS[:4], f"{number:04}".encode())))
        assert sum(path.stat().st_size for path in shard.index_path.parent.iterdir()) < 1_000
    assert len(list(shard.index_path.parent.iterdir())) == 2
    assert shard.asked_for(*BUCKETS) == []


def test_more_than_is_copied_is_asked_for(shard: Shard) -> None:
    shard.batch(("put_many", dict.fromkeys(BUCKETS, b"x" * 60)))
    shard.batch(("put_many", dict.fromkeys(BUCKETS[:4], b"y" * 60)))
    assert shard.asked_for(*BUCKETS) == BUCKETS[:4]


def spoil_index(shard: Shard) -> None:
    shard.index_path.write_bytes(shard.index_path.read_bytes()[:-5])


def index_of_something_else(shard: Shard) -> None:
    shard.index_path.write_bytes(pack([shard.values["copy"], 7]))


def lose_values(shard: Shard) -> None:
    value_file(shard).unlink()


def cut_values(shard: Shard) -> None:
    path = value_file(shard)
    path.write_bytes(path.read_bytes()[:-1])


def value_file(shard: Shard) -> Path:
    (path,) = (each for each in shard.index_path.parent.iterdir() if each != shard.index_path)
    return path


@pytest.mark.parametrize("spoil", [spoil_index, index_of_something_else, lose_values, cut_values])
def test_what_is_spoilt_is_asked_for_and_copied_anew(
    shard: Shard, spoil: Callable[[Shard], None]
) -> None:
    spoil(shard)
    assert shard.asked_for(*BUCKETS) == BUCKETS
    shard.asked_for(*BUCKETS)
    assert shard.asked_for(*BUCKETS) == []


def test_where_nothing_can_be_written_all_is_asked_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "own").write_text("not a directory")
    shard = Shard(tmp_path / "own" / "shard-0.index")
    with caplog.at_level(logging.WARNING, "percept.job"):
        shard.batch(("put_many", dict.fromkeys(BUCKETS, b"x")))
    assert "no copy of buckets is kept on this machine in this batch" in caplog.text
    assert shard.asked_for(*BUCKETS) == BUCKETS


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_disk_that_is_full_costs_nothing_but_the_copy(
    shard: Shard, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    written = 0

    def add(self: ValueFile, values: Sequence[bytes]) -> list[object]:
        nonlocal written
        written += 1
        if written >= at:
            raise OSError(28, "No space left on device")
        return list(original(self, values))

    original = ValueFile.add
    monkeypatch.setattr(ValueFile, "add", add)
    for number in range(3):
        shard.batch(
            ("put_many", dict.fromkeys(BUCKETS, f"{number}".encode() * 9)),
            ("get_many", dict.fromkeys(BUCKETS)),
        )
    monkeypatch.undo()
    assert shard.asked_for(*BUCKETS) == BUCKETS
    assert shard.asked_for(*BUCKETS) == []
    assert len(list(shard.index_path.parent.iterdir())) == 2


def test_processes_that_add_to_one_file_know_their_own(tmp_path: Path) -> None:
    one, other = ValueFile(tmp_path / "values"), ValueFile(tmp_path / "values")
    spans = [one.add([b"a", b"bc"]), other.add([b"def"]), one.add([b"", b"g"])]
    assert [each.read(its) for each, its in zip([other, one, other], spans, strict=True)] == [
        [b"a", b"bc"],
        [b"def"],
        [b"", b"g"],
    ]
    one.close()
    other.close()

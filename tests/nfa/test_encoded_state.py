"""State to bytes and back, at any event, changes nothing."""

import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cep.matching.matcher_state import encode_matcher, restore_matcher
from cep.nfa.codec import FORMAT_VERSION, pack, unpack
from cep.nfa.errors import SkipTargetMissing, StateEncodingError
from cep.nfa.runs import KeyRuns
from percept import Detection, KeyedMatcher, Pattern
from tests.nfa.keyed_run import KeyedRun
from tests.nfa.letters import letter

VECTORS = Path(__file__).parents[1] / "conformance" / "vectors"


def cases() -> list[dict[str, Any]]:
    lines = (VECTORS / "fuzz_visible.jsonl").read_text().splitlines()
    lines += (VECTORS / "flink_tests.jsonl").read_text().splitlines()
    loaded = [json.loads(line) for line in lines]
    return [case for case in loaded if "error" not in case["expected"]]


class Run:
    """One matcher fed event by event; `restart` replaces it by one with its state."""

    def __init__(self, rules: dict[str, Pattern]) -> None:
        self.run = KeyedRun(rules)
        self.found: list[tuple[Any, ...]] = []
        self.rules = rules

    @property
    def matcher(self) -> KeyedMatcher:
        return self.run.matcher

    def restart(self, rules: dict[str, Pattern] | None = None) -> None:
        data = encode_matcher(self.matcher)
        self.run = KeyedRun(rules or self.rules)
        restore_matcher(self.matcher, data)

    def feed(self, event: dict[str, Any], key: object = None) -> None:
        self.note(self.run.fed(event, key, event["ts"]))

    def note(self, detections: list[Detection]) -> None:
        self.found += [(d.rule, d.key, d.steps, d.time_ms, d.is_timeout) for d in detections]


def run(case: dict[str, Any], restarts: frozenset[int]) -> list[tuple[Any, ...]]:
    current = Run({"r": Pattern.from_document(case["pattern"], flink_quirks=True)})
    try:
        for index, event in enumerate(case["events"]):
            if index in restarts:
                current.restart()
            current.feed(event)
        current.restart()
        last_ms = case.get("final_watermark", case["events"][-1]["ts"])
        current.note(current.matcher.advance_to(last_ms))
    except SkipTargetMissing:
        current.found.append(("failed",))
    return current.found


@given(st.sampled_from(cases()), st.sets(st.integers(0, 20)))
def test_a_restart_between_any_events_changes_nothing(
    case: dict[str, Any], restarts: set[int]
) -> None:
    assert run(case, frozenset(restarts)) == run(case, frozenset())


def pattern(last: str) -> Pattern:
    return Pattern.begin("a").where(letter("a")).followed_by("b").where(letter(last))


def test_shared_prefixes_stay_shared() -> None:
    loop = Pattern.begin("a").where(letter("a")).one_or_more().followed_by("b").where(letter("b"))
    current = Run({"r": loop})
    for index in range(200):
        current.feed({"name": "a", "ts": index})
    size = len(encode_matcher(current.matcher))
    current.restart()
    assert len(encode_matcher(current.matcher)) == size
    (runs,) = current.matcher.shapes[0].keys.values()
    assert isinstance(runs, KeyRuns)
    cells = sum(1 for _ in runs.cells())
    assert cells == sum(range(201))  # one chain per start, each event once in each


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.decimals(allow_nan=False)
    | st.dates()
    | st.datetimes(timezones=st.none() | st.just(UTC))
    | st.timedeltas(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=10,
)


@given(VALUES)
def test_every_kind_of_value_in_an_event_comes_back_as_it_was(value: object) -> None:
    restored = unpack(pack(value))
    assert restored == value
    assert type(restored) is type(value)


def test_a_value_without_encoding_is_named() -> None:
    with pytest.raises(StateEncodingError, match="holds a complex"):
        pack({"z": 1j})


ENCODED = pack([1, "two", Decimal(3), date(2020, 1, 1), datetime(2020, 1, 1), timedelta(1)])  # noqa: DTZ001 - naive on purpose


@given(st.integers(0, len(ENCODED) - 1), st.integers(1, 255))
@example(position=4, change=1)  # format 1 becomes format 0
def test_a_changed_byte_is_noticed(position: int, change: int) -> None:
    damaged = bytearray(ENCODED)
    damaged[position] ^= change
    with pytest.raises(StateEncodingError):
        unpack(bytes(damaged))


@given(st.integers(0, len(ENCODED) - 1))
def test_a_cut_off_encoding_is_noticed(length: int) -> None:
    with pytest.raises(StateEncodingError):
        unpack(ENCODED[:length])


def test_a_newer_format_asks_for_an_upgrade() -> None:
    newer = ENCODED[:4] + bytes([FORMAT_VERSION + 1]) + ENCODED[5:]
    with pytest.raises(StateEncodingError, match="upgrade"):
        unpack(newer)


def test_state_of_another_shape_is_not_taken_over() -> None:
    current = Run({"r": pattern("b")})
    current.feed({"name": "a", "ts": 0})
    current.restart({"r": pattern("b").within(5)})
    current.feed({"name": "b", "ts": 1})
    assert current.found == []

"""Matching, feature by feature, on letters."""

import math
from typing import Any

import pytest

from cep.expression import Schema
from cep.nfa.errors import (
    ConditionFailed,
    EventTimeError,
    EventValueError,
    LimitExceeded,
)
from percept import Limits, Pattern, find_matches
from tests.nfa.letters import events, found, letter, match, spelled

A = Pattern.begin("a").where(letter("a"))


def test_absence_is_reported_when_time_advances_without_a_later_event() -> None:
    pattern = A.not_followed_by("b").where(letter("b")).within(10)
    result = find_matches(pattern, events("a"), final_watermark_ms=10)
    assert [(spelled(m.steps), m.at, m.time_ms) for m in result.matches] == [("a0", None, 10)]
    assert find_matches(pattern, events("a"), final_watermark_ms=9).matches == []


def test_another_key_advances_time_for_a_silent_one() -> None:
    pattern = A.not_followed_by("b").where(letter("b")).within(3)
    stream = [
        {"name": "a", "user": 1, "ts": 0},
        {"name": "x", "user": 2, "ts": 7},
    ]
    result = find_matches(pattern, stream, key_by="user")
    assert [(m.key, m.at, m.time_ms) for m in result.matches] == [(1, 1, 3)]


def test_an_absence_is_dated_by_its_own_window_not_by_one_that_is_gone() -> None:
    pattern = A.not_followed_by("b").where(letter("b")).within(4)
    (match,) = find_matches(pattern, events("aba"), final_watermark_ms=100).matches
    assert (spelled(match.steps), match.time_ms) == ("a2", 6)


def test_keys_never_mix() -> None:
    pattern = A.followed_by("b").where(letter("b"))
    stream = [
        {"name": "a", "user": 1, "shop": 1, "ts": 0},
        {"name": "b", "user": 1, "shop": 2, "ts": 1},
        {"name": "b", "user": 1, "shop": 1, "ts": 2},
    ]
    result = find_matches(pattern, stream, key_by=["user", "shop"])
    assert [(m.key, m.at) for m in result.matches] == [((1, 1), 2)]


def test_matches_hold_the_very_objects_given() -> None:
    stream = events("ab")
    result = find_matches(A.followed_by("b").where(letter("b")), stream)
    assert result.matches[0].steps["b"][0] is stream[1]


def test_a_python_condition_sees_the_event_and_what_was_accepted() -> None:
    def dearer(event: dict[str, Any], context: Any) -> bool:
        return bool(event["name"] == "b" and event["price"] > context.events("a")[0]["price"] + 1)

    assert match(A.followed_by("b").where(dearer), "abb") == ["a0 b2"]


def test_a_raising_condition_is_named_with_its_cause() -> None:
    def broken(event: dict[str, Any], context: Any) -> bool:
        del context
        return bool(event["no such field"])

    with pytest.raises(ConditionFailed, match=r"event 2: .*broken.*KeyError: 'no such field'"):
        match(A.followed_by("b").where(broken), "ab")


@pytest.mark.long
def test_combinations_over_many_events_end_in_an_error_with_numbers() -> None:
    pattern = A.one_or_more().allow_combinations()
    with pytest.raises(LimitExceeded) as exceeded:
        match(pattern, "a" * 10_000)
    assert exceeded.value.limit == Limits().partial_matches
    assert exceeded.value.given > exceeded.value.limit
    assert "within" in str(exceeded.value)


def test_an_event_that_doubles_the_partial_matches_is_refused_at_the_limit() -> None:
    pattern = A.one_or_more().allow_combinations()
    with pytest.raises(LimitExceeded) as exceeded:
        find_matches(pattern, events("a" * 20), limits=Limits(partial_matches=600))
    assert 600 < exceeded.value.given <= 603


def test_a_loop_without_end_does_not_keep_events_for_ever() -> None:
    pattern = (
        Pattern.begin("s").where(letter("s")).followed_by("a").where(letter("a")).one_or_more()
    )
    pattern = pattern.followed_by("b").where(letter("b"))
    limits = Limits(events=100)
    with pytest.raises(LimitExceeded, match="events kept"):
        find_matches(pattern, events("s" + "a" * 200), limits=limits)
    windowed = pattern.within(50)
    assert find_matches(windowed, events("s" + "a" * 200), limits=limits).matches == []


def test_a_group_that_may_be_empty_and_repeats_for_ever_does_not_hang() -> None:
    group = A.optional().followed_by("b").where(letter("b")).optional()
    pattern = Pattern.begin(group).one_or_more().followed_by("c").where(letter("c"))
    result = find_matches(pattern.flink_quirks(), events("abc"))
    assert "a0 b1 c2" in found(result)


def test_events_out_of_order_are_refused_with_their_place() -> None:
    with pytest.raises(EventTimeError, match=r"event 2 .* older than the one before"):
        find_matches(A, [{"name": "a", "ts": 5}, {"name": "a", "ts": 4}], require_order=True)


@pytest.mark.parametrize("time", [None, 1.5, True, "yesterday"])
def test_an_unusable_time_is_refused_with_its_place(time: object) -> None:
    with pytest.raises(EventTimeError, match="event 1: ts is"):
        find_matches(A, [{"name": "a", "ts": time}])


def test_order_by_orders_events_of_equal_time() -> None:
    stream = [{"name": "b", "ts": 1, "n": 2}, {"name": "a", "ts": 1, "n": 1}]
    pattern = A.followed_by("b").where(letter("b"))
    assert find_matches(pattern, stream).matches == []
    ordered = find_matches(pattern, stream, order_by="n").matches
    assert [match.at for match in ordered] == [0]


def test_without_the_field_of_the_order_an_event_comes_first() -> None:
    stream = [{"name": "b", "ts": 1, "n": math.nan}, {"name": "b", "ts": 1, "n": 2}]
    stream += [{"name": "a", "ts": 1}, {"name": "c", "ts": 1, "n": None}]
    pattern = A.next("c").where(letter("c")).next("b").where("name = 'b' AND n = 2")
    assert [match.at for match in find_matches(pattern, stream, order_by="n").matches] == [1]
    with pytest.raises(EventValueError, match="events at 1 ms have no order: '<' not supported"):
        find_matches(pattern, [*stream, {"name": "a", "ts": 1, "n": "x"}], order_by="n")


def test_a_schema_types_events_and_leaves_them_what_they_are() -> None:
    stream = [{"name": "a", "ts": 1, "n": "1.50"}, {"name": "a", "ts": 2, "n": 1}]
    schema = Schema.from_ddl("name STRING, ts TIMESTAMP, n DECIMAL(9,2)")
    (match,) = find_matches(A.where("n + 1 = 2.5"), stream, schema=schema).matches
    assert match.steps["a"][0] is stream[0]
    with pytest.raises(EventValueError, match="event 2: n: '1,5' is no DECIMAL"):
        find_matches(A, [stream[0], stream[0] | {"n": "1,5"}], schema=schema)

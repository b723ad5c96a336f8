"""What `find_matches` warns of: what was most likely meant otherwise."""

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest

from cep.events.table import UnreadableEvents
from cep.keyed.event_check import EventWarning
from cep.matching.find_matches import find_matches
from cep.nfa.errors import EventKeyError, EventTimeError
from cep.pattern import Pattern, PatternError

PATTERN = Pattern.begin("a").where("name = 'a'").next("b").where("name = 'b' AND ts > a.ts")
EVENTS: list[dict[str, Any]] = [
    {"ts": 1, "user": {"id": "u"}, "name": "a"},
    {"ts": 2, "user": {"id": "u"}, "name": "b"},
]


def test_a_result_has_its_matches_as_items_and_is_false_without_one() -> None:
    result = find_matches(PATTERN, EVENTS)
    assert (len(result), list(result), bool(result)) == (1, result.matches, True)
    assert not find_matches(PATTERN, EVENTS[:1])


def told(pattern: Pattern, events: Any, **options: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        find_matches(pattern, events, **options)
    assert all(each.category is EventWarning and each.filename == __file__ for each in found)
    return [str(each.message) for each in found]


@pytest.mark.parametrize("events", [EVENTS, pl.DataFrame(EVENTS)], ids=["mappings", "frame"])
def test_a_field_that_no_event_has_is_told_where_it_is_called(events: Any) -> None:
    slip = Pattern.begin("a").where("nmae = 'a'")
    (warning,) = told(slip, events)
    assert "no event has the field nmae, which the condition of a reads" in warning
    assert "did you mean name?" in warning
    assert told(slip, events, warn=False) == []
    assert told(PATTERN, events) == []
    looking_back = Pattern.begin("a").next("b").where("ts > a.tz OR SUM(a.amount) > 1")
    of_step, of_aggregate = sorted(told(looking_back, events), reverse=True)
    assert "the field tz, which the condition of b reads" in of_step
    assert "the field amount, " in of_aggregate


def test_a_key_that_no_event_has_is_told() -> None:
    (warning,) = told(PATTERN, EVENTS, key_by="usr")
    assert "no event has the field usr, which is of the key, so all events have the" in warning
    assert "did you mean user?" in warning
    assert len(told(PATTERN, EVENTS, key_by=("usr", "name", "nam"))) == 2
    assert told(PATTERN, EVENTS, key_by="user.id") == []
    assert told(PATTERN, EVENTS, key_by=lambda event: event["name"]) == []


def test_seconds_are_told() -> None:
    seconds = [event | {"ts": 1_700_000_000 + event["ts"]} for event in EVENTS]
    (warning,) = told(PATTERN, seconds)
    assert "look like seconds; multiply them by 1000" in warning
    assert told(PATTERN, seconds, time_field=lambda event: event["ts"] * 1000) == []
    assert told(PATTERN, [EVENTS[0], *seconds]) == []
    assert told(PATTERN, [{"ts": 60_000, "name": "x"}]) == []


def test_of_objects_and_of_no_events_nothing_is_told() -> None:
    @dataclass
    class Event:
        ts: int

    slip = Pattern.begin("a").where("nmae = 'a'")
    assert told(slip, [Event(1)]) == []
    assert told(slip, []) == []


def test_matches_of_events_without_a_key_are_told_and_counted() -> None:
    keyless = [EVENTS[0] | {"user": None}, {"ts": 2, "name": "b"}]
    other = {"ts": 2, "user": "u", "name": "b"}
    (warning,) = told(PATTERN, [*keyless, other], key_by="user")
    assert warning.startswith("1 match has NULL in the key: events without user are matched toge")
    assert told(PATTERN, [keyless[0], other], key_by="user") == []  # no match has it


def test_events_out_of_order_are_told_with_the_first_one() -> None:
    (warning,) = told(PATTERN, [EVENTS[1], EVENTS[0]])
    assert warning.startswith("event 2 is older than the one before it")
    assert told(PATTERN, [EVENTS[1], EVENTS[0]], warn=False) == []


def keys(values: list[Any]) -> list[Any]:
    """Return the keys of pairs of events, each event with the next of these values as its key."""
    pair = Pattern.begin("a").next("b")
    events = [{"ts": place, "user": value} for place, value in enumerate(values)]
    one = find_matches(pair, events, key_by="user").matches
    two = find_matches(pair, events, key_by=("user", "user")).matches
    assert [match.key for match in two] == [(match.key, match.key) for match in one]
    return [match.key for match in one]


def test_a_truth_value_is_another_key_than_a_number() -> None:
    assert keys([1, True, 0, False]) == []
    assert keys([True, True]) == [True]
    assert type(keys([True, 1, True])[0]) is bool
    assert type(keys([1, True, 1])[0]) is int


def test_nan_is_one_key() -> None:
    (key,) = keys([float("nan"), 1.0, float("nan")])
    assert math.isnan(key)


def test_a_key_that_cannot_be_one_is_refused_with_its_event() -> None:
    events = [{"ts": 1, "user": "u"}, {"ts": 2, "user": ["u"]}]
    with pytest.raises(EventKeyError, match=r"event 2: its key is \['u'\]"):
        find_matches(
            PATTERN.where("TRUE"), [event | {"name": "a"} for event in events], key_by="user"
        )


def test_arguments_that_are_none_of_pattern_and_events_are_refused() -> None:
    swapped: Any = EVENTS
    with pytest.raises(TypeError, match="the first argument is the pattern, not a list"):
        find_matches(swapped, [PATTERN])
    not_events: list[Any] = [None, 3, "text", PATTERN]
    for wrong in not_events:
        with pytest.raises(UnreadableEvents, match="events are a list of mappings or objects"):
            find_matches(PATTERN, wrong)
    no_key: Any = 3
    with pytest.raises(TypeError, match="key_by is a field, fields or a function, not 3"):
        find_matches(PATTERN, EVENTS, key_by=no_key)
    no_document: Any = "steps: []"
    with pytest.raises(PatternError, match=r"Read a text by Pattern\.from_yaml"):
        Pattern.from_document(no_document)


def test_times_of_numpy_are_read_and_a_missing_one_names_what_there_is() -> None:
    events = [event | {"ts": np.int64(event["ts"])} for event in EVENTS]
    assert len(find_matches(Pattern.begin("a"), events).matches) == 2
    with pytest.raises(EventTimeError, match=r"ts is missing.*; the event has at, name: name the"):
        find_matches(PATTERN, [{"at": 1, "name": "a"}])

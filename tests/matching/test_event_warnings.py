"""What `find_matches` warns of: what was most likely meant otherwise."""

import warnings
from dataclasses import dataclass
from typing import Any

import polars as pl
import pytest

from cep.matching.event_check import EventWarning
from cep.matching.find_matches import find_matches
from cep.pattern import Pattern

PATTERN = Pattern.begin("a").where("name = 'a'").next("b").where("name = 'b' AND ts > a.ts")
EVENTS: list[dict[str, Any]] = [
    {"ts": 1, "user": {"id": "u"}, "name": "a"},
    {"ts": 2, "user": {"id": "u"}, "name": "b"},
]


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


def test_a_key_that_no_event_has_is_told() -> None:
    (warning,) = told(PATTERN, EVENTS, key_by="usr")
    assert "no event has the field usr, which is of the key" in warning
    assert len(told(PATTERN, EVENTS, key_by=("usr", "name", "nam"))) == 2
    assert told(PATTERN, EVENTS, key_by="user.id") == []
    assert told(PATTERN, EVENTS, key_by=lambda event: event["name"]) == []


def test_seconds_are_told() -> None:
    seconds = [event | {"ts": 1_700_000_000 + event["ts"]} for event in EVENTS]
    (warning,) = told(PATTERN, seconds)
    assert "look like seconds; multiply them by 1000" in warning
    assert told(PATTERN, seconds, time_field=lambda event: event["ts"] * 1000) == []
    assert told(PATTERN, [EVENTS[0], *seconds]) == []


def test_of_objects_and_of_no_events_nothing_is_told() -> None:
    @dataclass
    class Event:
        ts: int

    slip = Pattern.begin("a").where("nmae = 'a'")
    assert told(slip, [Event(1)]) == []
    assert told(slip, []) == []

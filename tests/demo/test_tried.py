"""What the demo promises of a backtest, of a shadow and of a list can be broken."""

from typing import Any

import pytest

from cep.instants import instant_ms
from contract.backtests import BacktestDifference, BacktestReport, RuleReport
from examples.demo.events import Event, load_events
from examples.demo.job import Row
from examples.demo.rules import (
    USER_ENUMERATION,
    USER_ENUMERATION_STRICTER,
    WATCHED,
    WATCHED_MORE,
)
from examples.demo.story import ACTS, Deed
from examples.demo.tried import Difference, backtest_flaw, list_flaw, shadow_flaw
from percept import find_matches

SHADOW, PROMOTE, LIST = (
    next(act for act in ACTS if act.deed is deed) for deed in (Deed.SHADOW, Deed.PROMOTE, Deed.LIST)
)


@pytest.fixture(scope="module")
def events() -> list[Event]:
    return load_events()


@pytest.fixture(scope="module")
def past(events: list[Event]) -> list[Event]:
    return [event for event in events if instant_ms(event["ts"]) < SHADOW.at_ms]


def report(past: list[Event], against: dict[str, Any], **changes: Any) -> BacktestReport:
    """Return what a worker tells; the keys are those that plain Python counts."""
    found = find_matches(USER_ENUMERATION_STRICTER.pattern, past, key_by=["src_ip"], warn=False)
    keys = [next(iter(match.steps.values()))[0]["src_ip"] for match in found.matches]
    rule: dict[str, Any] = {
        "matches": 56,
        "keys": 4,
        "top_keys": {key: keys.count(key) for key in keys},
        "against": BacktestDifference.model_construct(**against),
    }
    read = changes.pop("events", 3_513)
    return BacktestReport.model_construct(
        events=read, rules=[RuleReport.model_construct(**rule | changes)]
    )


AGAINST = {"both": 0, "gained": 56, "lost": 24}


def flaw_of(told: BacktestReport | None, past: list[Event]) -> str:
    return backtest_flaw(told, USER_ENUMERATION_STRICTER, USER_ENUMERATION, past)


@pytest.mark.parametrize(
    ("changes", "flaw"),
    [
        ({}, ""),
        ({"events": 3_512}, "events: 3512 instead of 3513"),
        ({"matches": 55}, "matches: 55 instead of 56"),
        ({"keys": 5}, "keys: 5 instead of 4"),
        ({"top_keys": {"10.0.0.1": 1}}, "of keys: {'10.0.0.1': 1} instead of {'10.0.0.1': 0}"),
    ],
)
def test_a_backtest_that_found_something_else_is_noticed(
    past: list[Event], changes: dict[str, Any], flaw: str
) -> None:
    assert flaw_of(report(past, AGAINST, **changes), past) == flaw


def test_a_backtest_that_compares_otherwise_or_not_at_all_is_noticed(past: list[Event]) -> None:
    for wrong, count in AGAINST.items():
        told = report(past, AGAINST | {wrong: count + 1})
        assert flaw_of(told, past).startswith("against: ")
    (rule,) = told.rules
    alone = told.model_copy(update={"rules": [rule.model_copy(update={"against": None})]})
    assert "None instead of" in flaw_of(alone, past)
    assert flaw_of(None, past)


@pytest.mark.parametrize(
    ("told", "is_right"),
    [
        (Difference(0, 4, 2), True),
        (Difference(1, 4, 2), False),
        (Difference(0, 3, 2), False),
        (Difference(0, 4, 1), False),
        (None, False),
    ],
)
def test_a_difference_in_shadow_that_is_another_one_is_noticed(
    events: list[Event], told: Difference | None, *, is_right: bool
) -> None:
    span_ms = SHADOW.at_ms, PROMOTE.at_ms
    flaw = shadow_flaw(told, USER_ENUMERATION_STRICTER, USER_ENUMERATION, events, span_ms)
    assert (flaw == "") is is_right
    later_ms = span_ms[0], LIST.at_ms
    assert shadow_flaw(told, USER_ENUMERATION_STRICTER, USER_ENUMERATION, events, later_ms)


def found_by(addresses: tuple[str, ...], events: list[Event]) -> list[Row]:
    return [
        {"kind": "match", "processor_id": WATCHED.id, "events": {"accepted": [event]}}
        for event in events
        if event["event_type"] == "auth_accepted" and event["src_ip"] in addresses
    ]


def test_a_list_that_changes_too_early_or_not_at_all_is_noticed(events: list[Event]) -> None:
    times = [instant_ms(event["ts"]) for event in events]
    place = next(n for n, time_ms in enumerate(times) if time_ms >= LIST.at_ms)
    earlier, later = events[:place], events[place:]
    at_first = found_by(WATCHED.listed, earlier)

    def flaw(rows: list[Row], seen: list[Event] = events) -> str:
        return list_flaw(rows, seen, WATCHED, WATCHED_MORE, LIST.at_ms)

    assert flaw(at_first + found_by(WATCHED_MORE.listed, later)) == ""
    assert "missed [" in flaw(at_first + found_by(WATCHED.listed, later))
    assert flaw(found_by(WATCHED_MORE.listed, events)).startswith("missed [], found besides [")
    twice = at_first + found_by(WATCHED_MORE.listed, later)
    assert "found besides" in flaw([*twice, twice[0]])
    assert "both sides" in flaw(at_first, earlier)

"""What is too large for the service is shortened, and says so."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import to_json

from contract.reports import EVENTS_BYTES, FAILED_EVENT_BYTES, LEFT_OUT, OUTPUT_BYTES, FailedAt
from processor_runtime.reporting.shortening import (
    failed_at,
    reported_match,
    shortened_events,
    shortened_output,
)

Events = dict[str, list[dict[str, Any]]]
ROW = {
    "match_id": "0123456789abcdef",
    "kind": "match",
    "tag": None,
    "processor_id": "a",
    "version": 1,
    "epoch": 1,
    "key": '["eve"]',
    "start_ms": 0,
    "end_ms": 1,
    "output": None,
    "events": None,
}


def test_what_fits_is_not_touched() -> None:
    events = {"fail": [{"user": "eve"}] * 3}
    assert shortened_events(events) is events
    assert shortened_output({"a": 1}) == {"a": 1}
    assert shortened_output("x" * 20_000) == {LEFT_OUT: "an output of 20002 bytes"}


def test_of_a_long_step_the_first_and_the_last_events_are_kept() -> None:
    events: Events = {
        "fail": [{"number": n, "note": "x" * 1_000} for n in range(100)],
        "login": [{"n": 1}],
    }
    shortened = shortened_events(events)
    fail = shortened["fail"]
    assert (fail[0]["number"], fail[-1]["number"]) == (0, 99)
    assert len(fail) == 51
    assert fail[25] == {LEFT_OUT: "50 of 100 events"}
    assert shortened["login"] == [{"n": 1}]


@pytest.mark.parametrize(
    ("events", "shortened"),
    [
        (
            {"fail": [{"note": "x" * 70_000}] * 2, "login": [{"n": 1}]},
            {"fail": [{LEFT_OUT: "2 of 2 events"}], "login": [{LEFT_OUT: "1 of 1 events"}]},
        ),
        (
            {f"step {number}".ljust(1_000): [{"n": 1}] for number in range(100)},
            {LEFT_OUT: [{LEFT_OUT: "100 events of 100 steps"}]},
        ),
    ],
    ids=["events", "names of steps"],
)
def test_what_is_too_large_even_alone_is_counted(events: Events, shortened: Events) -> None:
    assert shortened_events(events) == shortened


@given(
    st.dictionaries(
        st.text(max_size=5),
        st.lists(st.integers(0, 40_000).map(lambda size: {"note": "ü" * size}), max_size=40),
        max_size=4,
    )
)
def test_whatever_the_events_they_fit_in_the_end(events: dict[str, list[dict[str, Any]]]) -> None:
    assert len(to_json(shortened_events(events))) <= EVENTS_BYTES


def test_a_row_of_any_size_is_a_match_that_can_be_reported() -> None:
    row = ROW | {
        "key": json.dumps(["x" * 5_000, {"a": 1}, None, 1.5, True, "nul\x00", *range(30)]),
        "output": json.dumps({"text": "x" * OUTPUT_BYTES}),
        "events": json.dumps({"fail": [{"note": "x" * 300}] * 1_000}),
    }
    match = reported_match(row)
    assert match.key[:5] == ["x" * 1_000, '{"a": 1}', None, 1.5, True]
    assert match.key[5] == "nul\N{REPLACEMENT CHARACTER}"
    assert len(match.key) == 20
    assert match.output == {LEFT_OUT: "an output of 16011 bytes"}
    assert any(LEFT_OUT in event for event in match.events["fail"])


@pytest.mark.parametrize("change", [{"match_id": None}, {"kind": "late"}, {"version": None}])
def test_a_row_that_is_no_match_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="validation error"):
        reported_match(ROW | change)


def test_a_timeout_of_a_shadow_is_compared_with_no_match() -> None:
    row = ROW | {"key": '["u"]', "events": '{"a": [{"id": 1}]}'}
    compared = reported_match(row).identity
    assert compared
    assert reported_match(row | {"kind": "shadow"}).identity == compared
    assert reported_match(row | {"kind": "shadow", "tag": "timeout"}).identity == ""


def test_where_a_rule_failed_is_told_with_an_event_that_fits() -> None:
    event: dict[str, Any] = {"user": "eve", "n": 7, "note": "x" * 5_000, "more": {"a": [1]}}
    row = ROW | {"events": json.dumps(event), "end_ms": 5}
    told = {LEFT_OUT: "5002 bytes"}
    assert failed_at(row) == FailedAt(key=["eve"], time_ms=5, event=event | {"note": told})
    wide = {f"field {number}": "x" * 100 for number in range(100)}
    shortened = failed_at(row | {"events": json.dumps(wide)}).event
    assert shortened is not None
    assert len(to_json(shortened)) <= FAILED_EVENT_BYTES
    assert shortened["field 0"] == "x" * 100
    assert shortened[LEFT_OUT] == f"{101 - len(shortened)} of 100 fields"
    odd = {"nul\x00": "\x00", "much": 2**70, "deep": json.loads("[" * 80 + "]" * 80), "no": None}
    mended = failed_at(row | {"events": json.dumps(odd)}).event
    assert mended is not None
    assert mended["nul\N{REPLACEMENT CHARACTER}"] == "\N{REPLACEMENT CHARACTER}"
    assert (mended["much"], mended["no"]) == (str(2**70), None)
    assert "1 values" in json.dumps(mended["deep"])
    nowhere = ROW | {"key": None, "events": None, "end_ms": -(2**60)}
    assert failed_at(nowhere) == FailedAt()


@given(st.dictionaries(st.text(max_size=600), st.integers() | st.text(max_size=900), max_size=40))
def test_whatever_the_event_it_fits(event: dict[str, Any]) -> None:
    told = failed_at(ROW | {"events": json.dumps(event)}).event
    assert told is not None
    assert len(to_json(told)) <= FAILED_EVENT_BYTES

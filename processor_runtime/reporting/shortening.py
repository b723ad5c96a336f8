"""An output row → a match or a group as it is reported, shortened if it is too large.

    columns of a row ──► ReportedMatch · ReportedGroup, with `percept_left_out` for what is missing

Recent matches are for people to look at, so the first and the last events of a step are kept.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from pydantic_core import to_json

from contract.report_values import event_time_or_none
from contract.reports import (
    EVENTS_BYTES,
    FAILED_EVENT_BYTES,
    LEFT_OUT,
    OUTPUT_BYTES,
    FailedAt,
    ReportedGroup,
    ReportedMatch,
)
from processor_runtime.rows.match_identity import match_identity

_IN_GROUPS: Final = frozenset({"match", "suppressed", "grouped"})
"""Kinds of rows whose tag is their group."""
_KEY_VALUES: Final = 20
_KEY_TEXT_LENGTH: Final = 1_000
_VALUE_BYTES: Final = 400
"""How many characters are reported of a value of an event that is too long to be reported whole."""

_Events = dict[str, list[dict[str, Any]]]


def reported_match(row: Mapping[str, Any]) -> ReportedMatch:
    """Return a row of a match or a timeout, of any kind, as it is reported.

    `row`: the columns of an output row; `key`, `output` and `events` are JSON text or `None`.

    Raises:
        ValueError: the service would not accept the row, for example because it has no id.
    """
    events = _json(row["events"], {})
    # Timeouts of the published version are not reported: those of a shadow would all seem new.
    is_compared = (row["kind"], row["tag"]) != ("shadow", "timeout")
    identity = match_identity(row["processor_id"], row["key"], events) if is_compared else ""
    return ReportedMatch(
        match_id=row["match_id"],
        kind=row["kind"],
        identity=identity,
        group_id=(row["tag"] or "") if row["kind"] in _IN_GROUPS else "",
        processor_id=row["processor_id"],
        version=row["version"],
        epoch=row["epoch"],
        key=[_key_value(value) for value in _json(row["key"], [])[:_KEY_VALUES]],
        start_ms=row["start_ms"],
        end_ms=row["end_ms"],
        output=shortened_output(_json(row["output"], None)),
        events=shortened_events(events),
    )


def reported_group(row: Mapping[str, Any]) -> ReportedGroup:
    """Return a row of kind `group` as it is reported.

    `row`: the columns of an output row; `output` is JSON text.

    Raises:
        ValueError: the service would not accept the row.
        KeyError: its output is not that of a group.
    """
    told = json.loads(row["output"])
    return ReportedGroup(
        match_id=told["match_ids"][0],
        group_id=row["tag"],
        processor_id=row["processor_id"],
        version=row["version"],
        matches=told["matches"],
        keys=told["keys"],
        keys_are_estimated=told.get("keys_are_estimated", False),
        group=shortened_output(told["group"]),
        is_rest=told.get("is_rest", False),
        from_ms=told["from_ms"],
        until_ms=told["until_ms"],
    )


def failed_at(row: Mapping[str, Any]) -> FailedAt:
    """Return where a rule failed, by the row of its error.

    `row`: the columns of an output row; `key` and `events` are JSON text or `None`.
    """
    event = _json(row["events"], None)
    return FailedAt(
        key=[_key_value(value) for value in _json(row["key"], [])[:_KEY_VALUES]],
        time_ms=event_time_or_none(row["end_ms"]),
        event=None if event is None else _shortened_event(event),
    )


def _shortened_event(event: dict[str, Any]) -> dict[str, Any]:
    """Return an event, of a long one the fields that fit, each cut if it is long."""
    if len(to_json(event)) <= FAILED_EVENT_BYTES:
        return event
    told: dict[str, Any] = {}
    left = FAILED_EVENT_BYTES - _VALUE_BYTES
    for name, value in event.items():
        size_bytes = len(to_json(value))
        field = {name: value if size_bytes <= _VALUE_BYTES else {LEFT_OUT: f"{size_bytes} bytes"}}
        left -= len(to_json(field))
        if left < 0:
            break
        told |= field
    if len(told) < len(event):
        told[LEFT_OUT] = f"{len(event) - len(told)} of {len(event)} fields"
    return told


def shortened_output(output: Any) -> Any:
    """Return an output, or only its size in bytes if it is too large."""
    size_bytes = len(to_json(output))
    if size_bytes <= OUTPUT_BYTES:
        return output
    return {LEFT_OUT: f"an output of {size_bytes} bytes"}


def shortened_events(events: _Events) -> _Events:
    """Return the events by step: of each step as many from both ends as fit.

    An object replaces missing events and says how many they are. If even one event per step is too
    much, no events are returned.
    """
    if len(to_json(events)) <= EVENTS_BYTES:
        return events
    kept = max(map(len, events.values()), default=0)
    while kept:
        kept //= 2
        shortened = {step: _ends(each, kept) for step, each in events.items()}
        if len(to_json(shortened)) <= EVENTS_BYTES:
            return shortened
    steps = f"{sum(map(len, events.values()))} events of {len(events)} steps"
    return {LEFT_OUT: [{LEFT_OUT: steps}]}


def _ends(events: list[dict[str, Any]], kept: int) -> list[dict[str, Any]]:
    if len(events) <= kept:
        return events
    first = (kept + 1) // 2
    last = kept - first
    gap = {LEFT_OUT: f"{len(events) - kept} of {len(events)} events"}
    return [*events[:first], gap, *events[len(events) - last :]]


def _json(text: str | None, absent: Any) -> Any:
    return absent if text is None else json.loads(text)


def _key_value(value: Any) -> str | float | bool | None:
    if value is None or isinstance(value, int | float):
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    # PostgreSQL stores no NUL, and the service shows keys as text.
    return text.replace("\x00", "\N{REPLACEMENT CHARACTER}")[:_KEY_TEXT_LENGTH]

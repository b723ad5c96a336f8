"""Compares what the service told of versions before they counted, and of a list, with the events.

backtest, difference in shadow, rows of the listed rule + events ──► why it is not so, or nothing
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from cep.instants import instant_ms
from contract.backtests import BacktestReport
from examples.demo.events import STREAM, Event
from examples.demo.job import Row
from examples.demo.rules import Rule
from percept import find_matches

_TIME: Final = str(STREAM["event_time_column"])


@dataclass(frozen=True, slots=True)
class Difference:
    """How many matches both versions found, and how many one of them alone."""

    both: int
    gained: int
    lost: int


@dataclass(frozen=True, slots=True)
class _Found:
    """A match: its key, and the ids of its events."""

    key: str
    event_ids: frozenset[int]
    start_ms: int


def backtest_flaw(
    report: BacktestReport | None, tried: Rule, published: Rule, past: Sequence[Event]
) -> str:
    """Say what a backtest found that the patterns do not find in the past, or the reverse.

    Args:
        report: what the worker told; `None` = nothing.
        tried: the version that was run.
        published: the one it was compared with.
        past: the events before the backtest.
    """
    if report is None:
        return "no backtest ended with a report"
    (rule,) = report.rules
    matches = _found(tried, past)
    by_key = Counter(each.key for each in matches)
    against = rule.against
    told = against and Difference(against.both, against.gained, against.lost)
    expected = _difference(matches, _found(published, past))
    pairs = (
        ("events", report.events, len(past)),
        ("matches", rule.matches, len(matches)),
        ("keys", rule.keys, len(by_key)),
        ("of keys", rule.top_keys, {key: by_key[key] for key in rule.top_keys}),
        ("against", told, expected),
    )
    return "; ".join(f"{what}: {is_so} instead of {be}" for what, is_so, be in pairs if is_so != be)


def shadow_flaw(
    told: Difference | None,
    tried: Rule,
    published: Rule,
    events: Iterable[Event],
    span_ms: tuple[int, int],
) -> str:
    """Say how the difference that was read differs from that of the patterns.

    Args:
        told: what the service told of the version in shadow; `None` = nothing.
        tried: the version in shadow.
        published: the one beside it.
        events: all of them.
        span_ms: since when it was in shadow, and when the difference was read, in event time.
    """
    since_ms, read_ms = span_ms
    seen = [event for event in events if instant_ms(event[_TIME]) < read_ms]
    expected = _difference(
        _found(tried, [event for event in seen if instant_ms(event[_TIME]) >= since_ms]),
        [each for each in _found(published, seen) if each.start_ms >= since_ms],
    )
    return "" if told == expected else f"{told} instead of {expected}"


def list_flaw(
    rows: Iterable[Row], events: Iterable[Event], before: Rule, after: Rule, switch_ms: int
) -> str:
    """Say which sign-ins were found or missed although the list says otherwise at their time.

    Args:
        rows: what the job has written.
        events: all that were fed.
        before: the rule with what its list held at first.
        after: the same with what it holds since the change.
        switch_ms: when the list was changed, in event time.
    """
    found = Counter(
        event["event_id"]
        for row in rows
        if (row["kind"], row.get("processor_id")) == ("match", after.id)
        for event in row["events"]["accepted"]
    )
    expected = Counter[int]()
    added = set(after.listed) - set(before.listed)
    sides = set()
    for event in events:
        if event["event_type"] != "auth_accepted":
            continue
        is_later = instant_ms(event[_TIME]) >= switch_ms
        if event["src_ip"] in added:
            sides.add(is_later)
        if event["src_ip"] in (after if is_later else before).listed:
            expected[event["event_id"]] += 1
    if sides != {False, True}:
        return "no sign-in from an added address on both sides of the change"
    if found == expected:
        return ""
    return f"missed {sorted(expected - found)}, found besides {sorted(found - expected)}"


def _found(rule: Rule, events: Sequence[Event]) -> list[_Found]:
    result = find_matches(rule.alone, events, key_by=rule.key_by, time_field=_TIME, warn=False)
    found = []
    for match in result.matches:
        taken = [event for of_step in match.steps.values() for event in of_step]
        found.append(
            _Found(
                ", ".join(f"{taken[0][name]}" for name in rule.key_by),
                frozenset(event["event_id"] for event in taken),
                min(instant_ms(event[_TIME]) for event in taken),
            )
        )
    return found


def _difference(tried: Collection[_Found], published: Collection[_Found]) -> Difference:
    ours = {each.event_ids for each in tried}
    theirs = {each.event_ids for each in published}
    return Difference(len(ours & theirs), len(ours - theirs), len(theirs - ours))

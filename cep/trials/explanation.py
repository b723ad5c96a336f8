"""Why a rule found no match, or no more, for one key in a span of time: how far each attempt came.

    KeyHistory ──traced──► matches and attempts of the span ──► SpanReport, with the events it names

Reported are the matches and attempts that begin before the end of the span and are not over
before its beginning.
"""

import json
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from cep.expression import EvaluationError
from cep.nfa.errors import MatchingError
from cep.trials.events import TimedEvent, timed_events
from cep.trials.key_history import KeyHistory, KeySpan
from cep.trials.misfits import Misfit, Unfit
from cep.trials.near_misses import (
    KeyTrace,
    conditions_of,
    key_report,
    nearest_event,
    traced_key,
    with_nearest,
)
from cep.trials.plain_values import plain
from cep.trials.reports import (
    Attempt,
    FarthestPartialMatch,
    FoundMatch,
    NearestEvent,
    SpanReport,
    ToldEvent,
)
from cep.trials.rule import Rule

_MOST_MATCHES: Final = 20
_FIRST_OF_STEP: Final = 3
_MOST_COLUMNS: Final = 30
_LONGEST: Final = 200


def explained(rule: Rule, history: KeyHistory, span: KeySpan, attempts: int) -> SpanReport:
    """Return the matches of a key in a span, and how far other attempts came.

    The events of `history` bear on the span. At most `attempts` are reported, those that came
    farthest first.

    Raises:
        Unfit: the events do not fit the stream, or cannot be matched.
    """
    events = timed_events(history.events, rule)
    key = json.dumps(history.key)
    try:
        traced = traced_key(rule, key, events, history.end_ms)
        return _report(rule, history, span, events, _within(traced, span, events), attempts)
    except (MatchingError, EvaluationError) as error:
        raise Unfit("trial", [Misfit(("events",), f"{error}")]) from None


def _within(traced: KeyTrace, span: KeySpan, events: Sequence[TimedEvent]) -> KeyTrace:
    """Return what of a trace begins before the end of a span and is not over before it begins."""
    times_ms = [event.time_ms for event in events]

    def last_ms(found: FoundMatch) -> int:
        places = (place for taken in found.steps.values() for place in taken)
        return max(map(times_ms.__getitem__, places), default=found.start)

    matches = [
        each
        for each in traced.matches()
        if each.start < span.until_ms and last_ms(each) >= span.from_ms
    ]
    ended = [
        each
        for each in traced.ended
        if each.start < span.until_ms and (each.ended_at is None or each.ended_at >= span.from_ms)
    ]
    return replace(traced, match_count=len(matches), ended=ended, matches=lambda: matches)


def _report(  # noqa: PLR0913, PLR0917 - what a report is made of
    rule: Rule,
    history: KeyHistory,
    span: KeySpan,
    events: Sequence[TimedEvent],
    traced: KeyTrace,
    most: int,
) -> SpanReport:
    conditions = conditions_of(rule)
    columns = sorted({name for each in conditions.values() for name in each.columns})
    first, last = (
        bisect_left(events, at, key=lambda event: event.time_ms)
        for at in (span.from_ms, span.until_ms)
    )
    told = key_report(json.dumps(history.key), events, traced, most)
    with_nearest(told, conditions, events)
    start = None
    if not told.partial_matches and not told.match_count:
        step = next(iter(conditions))
        start = nearest_event(step, conditions[step], events[first:last], {})
    matches = traced.matches()[:_MOST_MATCHES]
    attempts = [_attempt(each) for each in told.partial_matches]
    nearest = [start, *(each for attempt in attempts for each in attempt.nearest)]
    for each in nearest:
        _cut_values(each)
    return SpanReport(
        key=told.key,
        since=span.from_ms,
        until=span.until_ms,
        begun_at=events[0].time_ms if events else None,
        ended_at=history.end_ms,
        is_exact=history.is_exact,
        read=history.read,
        unusable=history.unusable,
        why_unusable=history.why_unusable,
        event_count=last - first,
        fits={
            name: sum(first <= place < last for place in traced.fits.get(name, ()))
            for name in conditions
        },
        conditions={name: condition.text for name, condition in conditions.items()},
        columns=columns,
        match_count=told.match_count,
        matches=[
            each.model_copy(update={"steps": _named(each.steps), "counts": _counts(each.steps)})
            for each in matches
        ],
        attempts=attempts,
        left_out=told.left_out,
        nearest_start=start,
        events={
            place: _shown_event(events[place], rule.time.column, columns)
            for place in sorted(_places(matches, attempts, nearest))
        },
    )


def _attempt(partial: FarthestPartialMatch) -> Attempt:
    steps = {"steps": _named(partial.steps), "counts": _counts(partial.steps)}
    return Attempt.model_validate(partial.model_dump(mode="python") | steps)


def _counts(steps: dict[str, list[int]]) -> dict[str, int]:
    return {step: len(places) for step, places in steps.items()}


def _named(steps: dict[str, list[int]]) -> dict[str, list[int]]:
    """Return the events that are named of each step: of many, the first ones and the last."""
    return {
        step: places
        if len(places) <= _FIRST_OF_STEP + 1
        else [*places[:_FIRST_OF_STEP], places[-1]]
        for step, places in steps.items()
    }


def _places(
    matches: Iterable[FoundMatch],
    attempts: Iterable[Attempt],
    nearest: Iterable[NearestEvent | None],
) -> set[int]:
    found: set[int] = {each.position for each in nearest if each is not None}
    for attempt in attempts:
        found.update(place for places in attempt.steps.values() for place in places)
        if attempt.ended_by is not None:
            found.add(attempt.ended_by)
    for match in matches:
        found.update(place for places in _named(match.steps).values() for place in places)
    return found


def _shown_event(event: TimedEvent, time_column: str, columns: Sequence[str]) -> ToldEvent:
    names = [name for name in columns if name in event.columns]
    names += [name for name in event.columns if name not in columns and name != time_column]
    shown = {name: _cut(plain(event.columns[name])) for name in names[:_MOST_COLUMNS]}
    return ToldEvent(at=event.time_ms, columns=shown)


def _cut_values(nearest: NearestEvent | None) -> None:
    for part in nearest.unmet if nearest is not None else ():
        part.values = {name: _cut(value) for name, value in part.values.items()}


def _cut(value: Any) -> Any:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return value if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"

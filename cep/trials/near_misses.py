"""Why a rule found no match: per key how far it came, and what the events lacked to go on.

    events ─by key─► Tracer | RowTracer ─► farthest partial matches ─► event nearest to each step

A key is traced by itself, since matches never mix keys: what a trace costs is then the number of
its own events, however many keys there are. Time passes for each as the events of all tell it.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cep.definition.keys import key_text
from cep.expression import EvaluationError
from cep.keyed.shapes import Detection
from cep.nfa.errors import MatchingError
from cep.row_pattern.analysis.analyse import analyse
from cep.trials.bounds import check_matches
from cep.trials.events import TimedEvent, key_function, timed_events
from cep.trials.misfits import Misfit, Unfit
from cep.trials.reports import (
    FarthestPartialMatch,
    FoundMatch,
    KeyReport,
    NearestEvent,
    TriedPartialMatch,
    WhyReport,
)
from cep.trials.row_tracing import RowTracer
from cep.trials.rule import Rule
from cep.trials.tracing import Trace, Tracer, last_cell
from cep.trials.unmet import StepCondition, Taken, row_conditions, step_conditions

_MOST_ERRORS: Final = 3
_MOST_LOOKED_AT: Final = 5_000
"""How many events are looked at for the one nearest to a step."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to report: of how many keys, how many partial matches each; `only` of one key."""

    keys: int
    partial_matches: int
    only: str | None
    until_ms: int | None


@dataclass(frozen=True, slots=True)
class KeyTrace:
    """The trace of one key; `matches` lists them in order of emission when it is called."""

    match_count: int
    fits: Mapping[str, Sequence[int]]
    ended: Sequence[TriedPartialMatch]
    matches: Callable[[], list[FoundMatch]]


def why_no_match(rule: Rule, events: Sequence[Mapping[str, Any]], wanted: Wanted) -> WhyReport:
    """Return how far a rule without Python conditions came in events, key by key.

    Events are in any order, with the values that JSON has. `wanted.only` is the values of a key,
    joined by a comma and a space.

    Raises:
        Unfit: the events do not fit the stream, cannot be matched, or none has the key.
    """
    timed = timed_events(events, rule)
    try:
        return _report(rule, timed, wanted)
    except (MatchingError, EvaluationError) as error:
        raise Unfit("trial", [Misfit(("events",), f"{error}")]) from None


def _report(rule: Rule, timed: list[TimedEvent], wanted: Wanted) -> WhyReport:
    conditions = conditions_of(rule)
    end_ms = max([event.time_ms for event in timed], default=0)
    end_ms = end_ms if wanted.until_ms is None else max(end_ms, wanted.until_ms)
    by_key = _by_key(rule, timed, wanted.only)
    fits: Counter[str] = Counter()
    reports: list[KeyReport] = []
    match_count = 0
    errors: list[str] = []
    for key, own in by_key.items():
        try:
            traced = traced_key(rule, key, own, end_ms)
        except (MatchingError, EvaluationError) as error:
            if len(by_key) == 1:
                raise
            errors.append(f"key {key_text(json.loads(key))}: {error}")
            continue
        match_count += traced.match_count
        check_matches(match_count)
        fits.update({name: len(found) for name, found in traced.fits.items()})
        reports.append(key_report(key, own, traced, wanted.partial_matches))
        if len(reports) >= 2 * wanted.keys:
            reports = _farthest_keys(reports, wanted.keys)
    listed = _farthest_keys(reports, wanted.keys)
    return WhyReport(
        event_count=len(timed),
        key_count=len(by_key),
        match_count=match_count,
        fits={name: fits[name] for name in conditions},
        conditions={name: condition.text for name, condition in conditions.items()},
        columns=sorted({name for each in conditions.values() for name in each.columns}),
        keys=[
            with_nearest(report, conditions, by_key[json.dumps(report.key)]) for report in listed
        ],
        left_out=len(by_key) - len(listed) - len(errors),
        errors=errors[:_MOST_ERRORS],
        error_count=len(errors),
    )


def conditions_of(rule: Rule) -> dict[str, StepCondition]:
    """Return the conditions of the steps of a rule, or of the variables of its clause."""
    query = rule.pattern.query
    if query is None:
        return step_conditions(rule)
    return row_conditions(analyse(query.clause, rule.schema))


def _by_key(
    rule: Rule, timed: Iterable[TimedEvent], only: str | None
) -> dict[str, list[TimedEvent]]:
    key_of = key_function(rule)
    by_key: dict[str, list[TimedEvent]] = defaultdict(list)
    for event in timed:
        by_key[key_of(event)].append(event)
    if only is None:
        return by_key
    found = {key: own for key, own in by_key.items() if key_text(json.loads(key)) == only}
    if not found:
        raise Unfit("key", [Misfit(("only",), f"No event has the key {only[:200]}.")])
    return found


def traced_key(rule: Rule, key: str, events: Sequence[TimedEvent], end_ms: int) -> KeyTrace:
    """Return the trace of a rule over the events of one key, a JSON list, in order.

    After them time passes to `end_ms`.

    Raises:
        MatchingError: the key exceeds a limit, or a condition cannot be tested.
        EvaluationError: values of incompatible types are compared.
    """
    query = rule.pattern.query
    if query is None:
        keyed = ((key, event) for event in events)
        trace = Tracer(rule.pattern, rule.schema).trace(keyed, until_ms=end_ms, let_time_pass=False)
        ended = [trace.to_report(each) for each in (*trace.partial_matches, *trace.dropped)]
        return KeyTrace(
            len(trace.matches), trace.fits, ended, lambda: [_found(trace, e) for e in trace.matches]
        )
    tracer = RowTracer(rule, query)
    for event in events:
        tracer.take(key, event)
    tracer.finish(until_ms=end_ms, let_time_pass=False)
    return KeyTrace(
        len(tracer.matches),
        tracer.fits,
        tracer.near_misses,
        lambda: [FoundMatch(steps=e.steps, start=e.start, at=e.at) for e in tracer.matches],
    )


def _found(trace: Trace, match: Detection) -> FoundMatch:
    steps = trace.positions(last_cell(match))
    return FoundMatch(steps=steps, start=match.first_event.time_ms, at=match.time_ms)


def key_report(key: str, events: Sequence[TimedEvent], traced: KeyTrace, most: int) -> KeyReport:
    """Return the report of a key, with its `most` farthest partial matches."""
    farthest = sorted(traced.ended, key=_progress, reverse=True)[:most]
    return KeyReport(
        key=json.loads(key),
        event_count=len(events),
        match_count=traced.match_count,
        partial_matches=[
            FarthestPartialMatch(**each.model_dump(), nearest=[]) for each in farthest
        ],
        left_out=len(traced.ended) - len(farthest),
        nearest_start=None,
    )


def _progress(partial: TriedPartialMatch) -> tuple[int, int]:
    return len(partial.steps), sum(map(len, partial.steps.values()))


def _farthest_keys(reports: list[KeyReport], most: int) -> list[KeyReport]:
    def place(report: KeyReport) -> tuple[bool, tuple[int, int]]:
        progress = max(map(_progress, report.partial_matches), default=(0, 0))
        return report.match_count == 0, progress

    return sorted(reports, key=place, reverse=True)[:most]


# --- the events that came nearest


def with_nearest(
    report: KeyReport, conditions: Mapping[str, StepCondition], events: Sequence[TimedEvent]
) -> KeyReport:
    """Return a report of a key with those of its events that came nearest to going on."""
    for partial in report.partial_matches:
        partial.nearest = _nearest_events(partial, conditions, events)
    if not report.partial_matches and not report.match_count:
        step = next(iter(conditions))
        report.nearest_start = nearest_event(step, conditions[step], events, {})
    return report


def _nearest_events(
    partial: TriedPartialMatch,
    conditions: Mapping[str, StepCondition],
    events: Sequence[TimedEvent],
) -> list[NearestEvent]:
    """Return for each step it was waiting for the event that came nearest to it."""
    if partial.outcome == "skipped":
        return []
    places = {event.position: place for place, event in enumerate(events)}
    taken = {
        name: [events[places[position]] for position in positions]
        for name, positions in partial.steps.items()
    }
    last = max(places[position] for positions in partial.steps.values() for position in positions)
    later = events[last + 1 : last + 1 + _MOST_LOOKED_AT]
    if partial.ended_by is not None:
        in_time = [each for each in later if places[each.position] <= places[partial.ended_by]]
        in_time = in_time[-1:]
        too_late: Sequence[TimedEvent] = ()
    elif partial.ended_at is not None:
        in_time = [each for each in later if each.time_ms < partial.ended_at]
        too_late = later[len(in_time) :]
    else:
        in_time, too_late = list(later), ()
    found = []
    # A loop waits for itself, too: what has not come at all is reported first.
    for step in sorted(partial.awaited, key=taken.__contains__):
        condition = conditions[step]
        late = next((each for each in too_late if not condition.unmet(each, taken)), None)
        if late is not None:
            found.append(_nearest_event(step, late, condition, taken, is_too_late=True))
        elif (nearest := nearest_event(step, condition, in_time, taken)) is not None:
            found.append(nearest)
    return found


def nearest_event(
    step: str, condition: StepCondition, events: Sequence[TimedEvent], taken: Taken
) -> NearestEvent | None:
    """Return the first of the events that lack least, `None` if there is none that lacks any."""
    lacking = [
        (len(unmet), place)
        for place, event in enumerate(events[:_MOST_LOOKED_AT])
        if (unmet := condition.unmet(event, taken))
    ]
    if not lacking:
        return None
    return _nearest_event(step, events[min(lacking)[1]], condition, taken, is_too_late=False)


def _nearest_event(
    step: str, event: TimedEvent, condition: StepCondition, taken: Taken, *, is_too_late: bool
) -> NearestEvent:
    return NearestEvent(
        step=step,
        position=event.position,
        at=event.time_ms,
        is_too_late=is_too_late,
        unmet=condition.unmet(event, taken),
    )

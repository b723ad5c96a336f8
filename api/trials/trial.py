"""Tries a rule on events: returns matches with their output, and near misses."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cep.expression import EvaluationError
from cep.keyed.shapes import Detection
from cep.nfa.errors import MatchingError
from cep.nfa.runs import accepted_events
from cep.processor import ProcessContext, SelectExpressions, Steps
from cep.trials.bounds import MOST_LISTED
from cep.trials.events import TimedEvent, key_function, timed_events, unknown_fields
from cep.trials.misfits import Misfit, Unfit
from cep.trials.plain_values import plain
from cep.trials.reports import TrialReport, TriedMatch
from cep.trials.row_tracing import row_pattern_report
from cep.trials.rule import Rule
from cep.trials.tracing import Trace, Tracer, last_cell


def run_trial(
    rule: Rule, events: Sequence[Mapping[str, Any]], *, let_time_pass: bool
) -> TrialReport:
    """Return what a rule finds in events, and how near it came where it found nothing.

    Args:
        rule: what is tried.
        events: in any order, with the values that JSON has.
        let_time_pass: after the last event, advance time until all windows close.

    Raises:
        Unfit: the events do not fit the stream, or cannot be matched.
    """
    timed = timed_events(events, rule)
    try:
        key_of = key_function(rule)
        keyed = [(key_of(event), event) for event in timed]
        if rule.pattern.query is not None:
            report = row_pattern_report(
                rule, rule.pattern.query, keyed, let_time_pass=let_time_pass
            )
        else:
            trace = Tracer(rule.pattern, rule.schema).trace(keyed, let_time_pass=let_time_pass)
            report = _report(rule, trace, timed)
    except (MatchingError, EvaluationError) as error:
        raise Unfit("trial", [Misfit(("events",), f"{error}")]) from None
    report.unknown_fields = unknown_fields(events, rule.schema)
    return report


def _report(rule: Rule, trace: Trace, events: list[TimedEvent]) -> TrialReport:
    # The partial match that got farthest is nearest to a match.
    partial_matches = sorted(
        trace.partial_matches, key=lambda each: -len(accepted_events(each.cell))
    )
    matches, listed = trace.matches[:MOST_LISTED], partial_matches[:MOST_LISTED]
    output_of = _output_function(rule)
    times_ms = dict.fromkeys(range(len(events)), 0) | {
        event.position: event.time_ms for event in events
    }
    return TrialReport(
        times=list(times_ms.values()),
        fits=trace.fits,
        matches=[_match(each, trace, output_of) for each in matches],
        partial_matches=[trace.to_report(each) for each in listed],
        left_out=len(trace.matches) + len(partial_matches) - len(matches) - len(listed),
        unknown_fields=[],
    )


def _match(
    found: Detection, trace: Trace, output_of: Callable[[Steps], dict[str, Any] | None]
) -> TriedMatch:
    steps = {name: [event.columns for event in taken] for name, taken in found.steps.items()}
    return TriedMatch(
        key=json.loads(str(found.key)),
        steps=trace.positions(last_cell(found)),
        start=found.first_event.time_ms,
        at=found.time_ms,
        output=output_of(steps),
    )


def _output_function(rule: Rule) -> Callable[[Steps], dict[str, Any] | None]:
    if not rule.content.select:
        return lambda _steps: None
    select = SelectExpressions(rule.content.select, rule.pattern)

    def output(steps: Steps) -> dict[str, Any]:
        (row,) = select.process_match(steps, ProcessContext(0, 0))
        return {name: plain(value) for name, value in row.items()}

    return output

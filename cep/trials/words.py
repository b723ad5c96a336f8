"""The report of a rule that finds nothing, in words: lines, each with what it is shown as.

SpanReport ──span_lines──► (line, style): bold, green (taken), red (the end), yellow (what lacks)
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from cep.definition.keys import key_text
from cep.instants import iso_text
from cep.printable import counted
from cep.trials.reports import Attempt, FarthestPartialMatch, NearestEvent, SpanReport, UnmetPart

Line = tuple[str, str]
EventLine = Callable[[int], str]
"""An event by its position, as one line."""

_LONGEST: Final = 200
_MOST_OF_STEP: Final = 3


def span_lines(name: str, report: SpanReport) -> Iterator[Line]:
    """Yield why a rule found no match for a key in a span."""
    count = counted(report.match_count, "match", "matches") if report.match_count else "no match"
    key = f"key {key_text(report.key)}" if report.key else "all events together"
    if report.unusable:
        why = f": {report.why_unusable}" if report.why_unusable else ""
        yield f"{counted(report.unusable, 'event')} could not be read{why}", "red"
    yield f"{name}, {key}: {count}", "bold"
    span = f"{iso_text(report.since)} to {iso_text(report.until)}"
    yield f"  {counted(report.event_count, 'event')} of it from {span}", ""
    yield from _reading_lines(report)
    if report.event_count:
        yield "  events that fit, looked at alone:", ""
        for step, condition in report.conditions.items():
            wanted = f"where {' '.join(condition.split())}" if condition else "every event"
            fits = report.fits[step]
            yield f"    {fits:>5,}  {step} {wanted}", "" if fits else "red"
    yield from _match_lines(report)
    yield from _attempts_lines(report)


def _reading_lines(report: SpanReport) -> Iterator[Line]:
    read = f"{counted(report.read, 'event')} read"
    if report.begun_at is not None and report.begun_at < report.since:
        read += f"; those of the key count from {iso_text(report.begun_at)} on"
    yield f"  {read}", ""
    if not report.is_exact and report.begun_at is not None:
        at = iso_text(report.begun_at)
        message = f"  events of the key before {at} were not looked at: what began there might have"
        yield f"{message} changed what was found, as after_match_skip says", "yellow"
    if report.ended_at < report.until:
        yield f"  the events end at {iso_text(report.ended_at)}, before the span does", "yellow"


def _match_lines(report: SpanReport) -> Iterator[Line]:
    line = _span_event_line(report)
    for number, match in enumerate(report.matches, start=1):
        yield f"  match {number}, found at {iso_text(match.at)}:", "bold"
        yield from step_lines(match.steps, match.counts, line)
    if more := report.match_count - len(report.matches):
        yield f"  {counted(more, 'more match', 'more matches')}", ""


def _attempts_lines(report: SpanReport) -> Iterator[Line]:
    line = _span_event_line(report)
    left_open = f"and is open at {iso_text(report.ended_at)}, where the time looked at ends"
    for number, attempt in enumerate(report.attempts):
        yield "  another attempt:" if number else "  farthest attempt without a match:", ""
        yield from attempt_lines(attempt, line, report.conditions, left_open)
        near = {each.position for each in attempt.nearest}
        if attempt.ended_by is not None and attempt.ended_by not in near:
            yield f"    ended by {line(attempt.ended_by)}", "yellow"
    if report.left_out:
        yield f"  {counted(report.left_out, 'more attempt')}", ""
    if report.nearest_start is not None:
        yield f"  nothing began: no event fits {report.nearest_start.step}; the nearest:", ""
        yield from nearest_lines(report.nearest_start, line)
    elif not report.event_count:
        yield "  no event of this key: look whether it is written as events have it", "red"
    elif not report.attempts and not report.match_count:
        yield "  nothing began", ""


def _span_event_line(report: SpanReport) -> EventLine:
    def line(position: int) -> str:
        event = report.events[position]
        return f"event {position + 1}  {iso_text(event.at)}  {json_text(event.columns)}"

    return line


def attempt_lines(
    partial: FarthestPartialMatch,
    line: EventLine,
    conditions: Mapping[str, str],
    left_open: str = "and the events ended",
) -> Iterator[Line]:
    """Yield what a partial match took, what ended it, and which events came near to going on.

    `left_open` says why nothing ended it.
    """
    counts = partial.counts if isinstance(partial, Attempt) else {}
    yield from step_lines(partial.steps, counts, line)
    yield f"    {_ending(partial, conditions, left_open)}", "red"
    for nearest in partial.nearest:
        yield from nearest_lines(nearest, line)


def step_lines(
    steps: Mapping[str, Sequence[int]], counts: Mapping[str, int], line: EventLine
) -> Iterator[Line]:
    """Yield the events of each step; of more than three the first and the last.

    `counts` has how many there are of a step where not all of them are named.
    """
    for step, positions in steps.items():
        shown = positions if len(positions) <= _MOST_OF_STEP else [positions[0], positions[-1]]
        for position in shown:
            yield f"    {step}  {line(position)}", "green"
        if more := counts.get(step, len(positions)) - len(shown):
            yield f"    {step}  … {more} more in between", "green"


def _ending(partial: FarthestPartialMatch, conditions: Mapping[str, str], left_open: str) -> str:
    awaited = " or ".join(
        f"{step} ({' '.join(conditions[step].split())})" if conditions.get(step) else step
        for step in partial.awaited
    )
    waited = f"it waited for {awaited}" if awaited else "it waited for time to pass"
    at = "" if partial.ended_at is None else f" at {iso_text(partial.ended_at)}"
    event = "" if partial.ended_by is None else f"event {partial.ended_by + 1}"
    match partial.outcome:
        case "timed_out":
            return f"{waited}, until its window closed{at}"
        case "forbidden":
            return f"{waited}; {event} fits {' or '.join(partial.forbidden)}, which must not come"
        case "broken":
            return f"{waited}; {event or 'the end'} came instead, and nothing may stand there{at}"
        case "skipped" if not partial.awaited and not partial.forbidden:
            message = "it was complete and held back; another match dropped it"
            return f"{message}{at}, as after_match_skip says"
        case "skipped":
            return f"{waited}; a match dropped it{at}, as after_match_skip says"
        case _:
            return f"{waited}, {left_open}"


def nearest_lines(nearest: NearestEvent, line: EventLine) -> Iterator[Line]:
    """Yield the event that came nearest to a step, and what it did not meet."""
    event = line(nearest.position)
    if nearest.is_too_late:
        yield f"    too late for {nearest.step}: {event}", "yellow"
        return
    yield f"    not {nearest.step}: {event}", "yellow"
    for part in nearest.unmet:
        yield f"      not so: {part.text}{_read(part)}", "yellow"


def _read(part: UnmetPart) -> str:
    values = (f"{name} = {json_text(value)}" for name, value in part.values.items())
    listed = ", ".join(values)
    return f", with {listed}" if listed else ""


def json_text(value: Any) -> str:
    """Return a value as JSON, cut if it is long."""
    text = "NULL" if value is None else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"

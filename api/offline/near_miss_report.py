"""Prints why a rule found no match, for people."""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from api.trials.near_misses import key_text
from api.trials.reports import FarthestPartialMatch, KeyReport, NearestEvent, UnmetPart, WhyReport
from cep.instants import instant_ms, iso_text
from cep.matching.find_matches import to_time_ms
from cep.printable import printable

_LONGEST_EVENT: Final = 200
_MOST_OF_STEP: Final = 3


@dataclass(frozen=True, slots=True)
class ShownEvents:
    """Events as they are shown: their time, then the columns that the rule reads, then the rest."""

    events: Sequence[dict[str, Any]]
    time_column: str
    columns: Sequence[str]

    def line(self, position: int) -> str:
        """Return an event as one line, cut if it is long."""
        event = self.events[position]
        rest = {name: value for name, value in event.items() if name != self.time_column}
        first = {name: rest[name] for name in self.columns if name in rest}
        time = event.get(self.time_column)
        with suppress(ValueError):
            time = iso_text(instant_ms(to_time_ms(time)))
        return f"row {position + 1}  {time}  {_json(first | rest)}"


def print_why(name: str, report: WhyReport, events: ShownEvents, left_out: int) -> None:
    """Print a report.

    Args:
        name: of the rule.
        report: what was found.
        events: the events by position.
        left_out: how many more events there are than were looked at.
    """
    console = Console(highlight=False, soft_wrap=True)
    for line, style in _lines(name, report, events, left_out):
        console.print(Text(printable(line), style=style))


def _lines(
    name: str, report: WhyReport, events: ShownEvents, left_out: int
) -> Iterator[tuple[str, str]]:
    count = _counted(report.match_count, "match", "matches") if report.match_count else "no match"
    keys = _counted(report.key_count, "key")
    yield f"{name}: {count} in {_counted(report.event_count, 'event')} of {keys}", "bold"
    if left_out:
        yield f"only the first events were looked at, {left_out:,} more were not", "yellow"
    if report.error_count:
        yield f"{_counted(report.error_count, 'key')} could not be matched, such as:", "yellow"
        yield from ((f"  {told}", "yellow") for told in report.errors)
    yield "events that fit, looked at alone:", ""
    for step, condition in report.conditions.items():
        told = f"where {' '.join(condition.split())}" if condition else "every event"
        yield f"  {report.fits[step]:>7,}  {step} {told}", "" if report.fits[step] else "red"
    for key in report.keys:
        yield "", ""
        yield from _key_lines(key, events, report.conditions)
    if report.left_out:
        yield "", ""
        yield f"{_counted(report.left_out, 'more key')} did not come farther", ""


def _key_lines(
    report: KeyReport, events: ShownEvents, conditions: dict[str, str]
) -> Iterator[tuple[str, str]]:
    key = f"key {key_text(report.key)}" if report.key else "one key"
    count = _counted(report.match_count, "match", "matches") if report.match_count else "no match"
    yield f"{key}: {_counted(report.event_count, 'event')}, {count}", "bold cyan"
    for number, partial in enumerate(report.partial_matches):
        yield "  farthest partial match:" if not number else "  another one:", ""
        yield from _partial_lines(partial, events, conditions)
    if report.left_out:
        yield f"  {_counted(report.left_out, 'more partial match', 'more partial matches')}", ""
    if report.nearest_start is not None:
        yield f"  nothing began: no event fits {report.nearest_start.step}; the nearest:", ""
        yield from _nearest_lines(report.nearest_start, events)
    elif not report.partial_matches and not report.match_count:
        yield "  nothing began", ""


def _partial_lines(
    partial: FarthestPartialMatch, events: ShownEvents, conditions: dict[str, str]
) -> Iterator[tuple[str, str]]:
    for step, positions in partial.steps.items():
        shown = positions if len(positions) <= _MOST_OF_STEP else [positions[0], positions[-1]]
        for position in shown:
            yield f"    {step}  {events.line(position)}", "green"
        if len(shown) < len(positions):
            yield f"    {step}  … {len(positions) - len(shown)} more in between", "green"
    yield f"    {_ending(partial, conditions)}", "red"
    for nearest in partial.nearest:
        yield from _nearest_lines(nearest, events)


def _ending(partial: FarthestPartialMatch, conditions: dict[str, str]) -> str:
    awaited = " or ".join(
        f"{step} ({' '.join(conditions[step].split())})" if conditions.get(step) else step
        for step in partial.awaited
    )
    waited = f"it waited for {awaited}" if awaited else "it waited for time to pass"
    at = "" if partial.ended_at is None else f" at {iso_text(partial.ended_at)}"
    row = "" if partial.ended_by is None else f"row {partial.ended_by + 1}"
    match partial.outcome:
        case "timed_out":
            return f"{waited}, until its window closed{at}"
        case "forbidden":
            return f"{waited}; {row} fits {' or '.join(partial.forbidden)}, which must not come"
        case "broken":
            return f"{waited}; {row or 'the end'} came instead, and nothing may stand there{at}"
        case "skipped":
            return f"{waited}; a match dropped it{at}, as after_match_skip says"
        case _:
            return f"{waited}, and the events ended"


def _nearest_lines(nearest: NearestEvent, events: ShownEvents) -> Iterator[tuple[str, str]]:
    event = events.line(nearest.position)
    if nearest.is_too_late:
        yield f"    too late for {nearest.step}: {event}", "yellow"
        return
    yield f"    not {nearest.step}: {event}", "yellow"
    for part in nearest.unmet:
        yield f"      not so: {part.text}{_read(part)}", "yellow"


def _read(part: UnmetPart) -> str:
    values = (f"{name} = {_json(value)}" for name, value in part.values.items())
    told = ", ".join(values)
    return f", with {told}" if told else ""


def _json(value: Any) -> str:
    text = "NULL" if value is None else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST_EVENT else f"{text[: _LONGEST_EVENT - 1]}…"


def _counted(count: int, one: str, several: str = "") -> str:
    return f"{count:,} {one if count == 1 else several or one + 's'}"

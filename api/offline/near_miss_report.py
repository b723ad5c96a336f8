"""Prints why a rule found no match, for people."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from cep.definition.keys import key_text
from cep.instants import instant_ms, iso_text
from cep.matching.find_matches import to_time_ms
from cep.printable import counted, printable
from cep.trials.reports import KeyReport, WhyReport
from cep.trials.words import attempt_lines, json_text, nearest_lines


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
        return f"event {position + 1}  {time}  {json_text(first | rest)}"


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
    count = counted(report.match_count, "match", "matches") if report.match_count else "no match"
    keys = counted(report.key_count, "key")
    yield f"{name}: {count} in {counted(report.event_count, 'event')} of {keys}", "bold"
    if left_out:
        yield f"only the first events were looked at, {left_out:,} more were not", "yellow"
    if report.error_count:
        yield f"{counted(report.error_count, 'key')} could not be matched, such as:", "yellow"
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
        yield f"{counted(report.left_out, 'more key')} did not come farther", ""


def _key_lines(
    report: KeyReport, events: ShownEvents, conditions: dict[str, str]
) -> Iterator[tuple[str, str]]:
    key = f"key {key_text(report.key)}" if report.key else "one key"
    count = counted(report.match_count, "match", "matches") if report.match_count else "no match"
    yield f"{key}: {counted(report.event_count, 'event')}, {count}", "bold cyan"
    for number, partial in enumerate(report.partial_matches):
        yield "  farthest partial match:" if not number else "  another one:", ""
        yield from attempt_lines(partial, events.line, conditions)
    if report.left_out:
        yield f"  {counted(report.left_out, 'more partial match', 'more partial matches')}", ""
    if report.nearest_start is not None:
        yield f"  nothing began: no event fits {report.nearest_start.step}; the nearest:", ""
        yield from nearest_lines(report.nearest_start, events.line)
    elif not report.partial_matches and not report.match_count:
        yield "  nothing began", ""

"""`percept why`: the composition root of trying a rule on a file of events.

Exit codes: 0 = told; 2 = the rule, the events or an option cannot be used.
"""

import json
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console

from api.offline.near_miss_report import ShownEvents, print_why
from api.offline.trying import NotTried, rule_to_try, why
from api.trials.near_misses import Wanted
from cep.definition.one_rule import FileRule, RuleRefused, read_text, rule_of_text
from cep.events.table import UnreadableEvents, read_mappings
from cep.expression import Schema
from cep.instants import instant_ms
from cep.matching.event_check import EventCheck
from cep.printable import printable


def why_no_match(  # noqa: PLR0913 - the options of one command
    rule: Annotated[
        str, typer.Argument(metavar="RULE", help="Rule or pattern, YAML or JSON; - = stdin.")
    ],
    events: Annotated[
        Path,
        typer.Argument(
            metavar="EVENTS", help="JSON Lines, CSV (both .gz too) or Parquet; - = stdin."
        ),
    ],
    *,
    key: Annotated[
        list[str] | None,
        typer.Option("--key", "-k", help="Key, if the rule says none; repeat for several columns."),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(help="Tell of this key only; a comma and a space between several values."),
    ] = None,
    rule_id: Annotated[
        str | None, typer.Option("--rule", help="Which rule, if the file holds several.")
    ] = None,
    streams: Annotated[
        list[Path] | None,
        typer.Option(help="File or folder to look for the document of its stream in."),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            "--time", "-t", help="Column of the event time; by default its stream's, or ts."
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(help="Advance time to here after the last event (ms or ISO 8601)."),
    ] = None,
    keys: Annotated[int, typer.Option(min=1, max=100, help="How many keys to tell of.")] = 3,
    near: Annotated[
        int, typer.Option(min=1, max=50, help="How many partial matches of each to tell of.")
    ] = 1,
    most_events: Annotated[
        int, typer.Option(min=1, help="How many events to look at, from the first on.")
    ] = 200_000,
    seconds: Annotated[float, typer.Option(min=0.1, help="How long it may take.")] = 60,
    megabytes: Annotated[
        int, typer.Option(min=50, help="How much memory it may take; enforced on Linux only.")
    ] = 2_000,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Tell why RULE finds no match in EVENTS: how far it came, and what was missing.

    For each key the partial match that came farthest, what it was waiting for, what ended it, and
    of the events that came then the nearest one, with the parts of the condition it did not meet.

    Exit code 0 = told, 2 = the rule, the events or an option cannot be used.
    """
    if rule == "-" and str(events) == "-":
        _fail("standard input holds the rule or the events, not both")
    try:
        read = rule_of_text(read_text(rule), rule, rule_id=rule_id)
        until_ms = None if until is None else _time_ms(until)
        found, seen = _events(events)
        taken = found[:most_events]
        tried = rule_to_try(
            read, source=Path(rule), streams=streams or (), seen=seen, key=key, time=time
        )
        wanted = Wanted(keys, near, only, until_ms)
        report = why(tried.written, taken, wanted, seconds=seconds, megabytes=megabytes)
    except (RuleRefused, NotTried, UnreadableEvents) as error:
        _fail(str(error))
    _warn(read, key or read.key_by, tried.written.event_time_column, taken)
    if as_json:
        typer.echo(json.dumps(report.model_dump(mode="json")))
        return
    name = read.content.id if read.content is not None else rule
    shown = ShownEvents(taken, tried.written.event_time_column, report.columns)
    print_why(name, report, shown, len(found) - len(taken))


def _events(path: Path) -> tuple[list[dict[str, Any]], Schema | None]:
    try:
        content = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
        return read_mappings(content, path.name)
    except OSError as error:
        raise UnreadableEvents(f"{path}: cannot read: {error.strerror}") from None
    except UnreadableEvents as error:
        raise UnreadableEvents(f"{path}: {error}") from None


def _time_ms(text: str) -> int:
    try:
        return instant_ms(int(text) if text.lstrip("-").isdigit() else text)
    except ValueError as error:
        _fail(f"--until {error}")


def _warn(rule: FileRule, keys: Any, time: str, events: list[dict[str, Any]]) -> None:
    check = EventCheck(rule.pattern, [each for each in keys if each.isidentifier()], time)
    for event in events:
        check.see(event)
    for warning in check.warnings():
        told = printable(f"warning: {warning}")
        Console(stderr=True).print(
            told, style="yellow", markup=False, highlight=False, soft_wrap=True
        )


def _fail(message: str) -> NoReturn:
    typer.echo(f"percept why: {printable(message)}", err=True)
    raise typer.Exit(2)

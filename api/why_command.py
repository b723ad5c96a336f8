"""`percept why`: the composition root of telling why a rule finds nothing.

    RULE EVENTS ──► the rule of a file is tried on a file of events
    RULE        ──► the service is asked about a rule that it has

With --from and --to it is about one key in a span of time, from an archive of events.

Exit codes: 0 = told; 1 = the service did not answer or refused; 2 = the rule, the events or an
option cannot be used.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

import typer
from rich.console import Console

from api.client import Client
from api.connected import DEFAULT_URL, PlainHttp, Token, Url, connected
from api.offline.near_miss_report import ShownEvents, print_why
from api.offline.span_printing import print_span
from api.offline.spans import AskedSpan, OfTheRule, why_in_span
from api.offline.trying import NotTried, key_expressions, rule_to_try, stream_of, why
from api.remote.diagnosis import tell_why
from api.remote.explanations import tell_explanation
from api.remote.partial_matches import tell_partial_matches
from cep.definition.given_lists import GivenList, read_list_options
from cep.definition.one_rule import FileRule, RuleRefused, read_text, rule_of_text
from cep.events.table import UnreadableEvents, event_rows
from cep.expression import Schema
from cep.file_trouble import file_trouble
from cep.instants import instant_ms
from cep.keyed.event_check import EventCheck, warning_of_open
from cep.printable import printable
from cep.trials.key_history import MOST_READ, BadQuestion, KeySpan
from cep.trials.near_misses import Wanted
from cep.trials.reports import MOST_ATTEMPTS, KeyReport

_MOST_EVENTS: Final = 200_000


def why_no_match(  # noqa: PLR0913 - the options of one command
    rule: Annotated[
        str,
        typer.Argument(
            metavar="RULE",
            help="Rule or pattern, YAML or JSON; - = stdin. Without EVENTS the id of a rule of the "
            "service.",
        ),
    ],
    events: Annotated[
        Path | None,
        typer.Argument(
            metavar="EVENTS",
            help="JSON Lines, CSV (both .gz too), Parquet or Arrow IPC; - = stdin. With --from an "
            "archive: also a folder, or a quoted pattern.",
        ),
    ] = None,
    *,
    key: Annotated[
        list[str] | None,
        typer.Option("--key", "-k", help="Key, if the rule says none; repeat for several columns."),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(
            help="Tell of this key only; a comma and a space between several values. Of a rule of "
            "the service: what is open for it."
        ),
    ] = None,
    rule_id: Annotated[
        str | None, typer.Option("--rule", help="Which rule, if the file holds several.")
    ] = None,
    streams: Annotated[
        list[Path] | None,
        typer.Option(help="File or folder to look for the document of its stream in."),
    ] = None,
    lists: Annotated[
        list[str] | None,
        typer.Option(
            "--list",
            metavar="NAME=FILE",
            help="CSV with the values of a list that the rule names; NAME:BIGINT=FILE, "
            "NAME:DATE=FILE if they are no text; may be repeated.",
        ),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            "--time", "-t", help="Column of the event time; by default its stream's, or ts."
        ),
    ] = None,
    begin: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="With --to and --only: tell of this key in this time, from an archive (ms or ISO "
            "8601).",
        ),
    ] = None,
    end: Annotated[
        str | None, typer.Option("--to", help="The end of that time, exclusive.")
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(help="Advance time to here after the last event (ms or ISO 8601)."),
    ] = None,
    keys: Annotated[int, typer.Option(min=1, max=100, help="How many keys to tell of.")] = 3,
    near: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MOST_ATTEMPTS,
            help="How many partial matches of each to tell of. [1; with --from 3]",
        ),
    ] = None,
    most_events: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="How many events to look at, from the first on. [200000; with --from 5000000 "
            "that bear on the time]",
        ),
    ] = None,
    seconds: Annotated[float, typer.Option(min=0.1, help="How long it may take.")] = 60,
    megabytes: Annotated[
        int, typer.Option(min=50, help="How much memory it may take; enforced on Linux only.")
    ] = 2_000,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    token: Token = "",
    url: Url = DEFAULT_URL,
    allow_plain_http: PlainHttp = False,
) -> None:
    """Tell why RULE finds no match in EVENTS: how far it came, and what was missing.

    For each key the partial match that came farthest, what it was waiting for, what ended it, and
    of the events that came then the nearest one, with the parts of the condition it did not meet.

    With --from, --to and --only it tells of one key in that time, from an archive: its matches, the
    attempts that came farthest, and what ended each. What began a window before is seen, too.

    Without EVENTS the service is asked about its rule RULE: whether it runs, whether events reach
    it, and how far partial matches get; with --only what is open for one key; with --from what its
    workers find in their archive (`percept work`). That needs --token.

    Exit code 0 = told, 1 = the service did not answer or refused, 2 = the rule, the events or an
    option cannot be used.
    """
    span = _span(begin, end, only or "", until)
    if events is None:
        if not token:
            _fail("EVENTS is missing, or --token to ask the service about its rule")
        with connected(url, token, allow_plain_http=allow_plain_http) as client:
            question = _AskedOfService(rule, only, span, near or 3, seconds)
            _ask_service(client, question, as_json=as_json)
        return
    if rule == "-" and str(events) == "-":
        _fail("standard input holds the rule or the events, not both")
    try:
        read = rule_of_text(read_text(rule), rule, rule_id=rule_id)
        until_ms = None if until is None else _time_ms("--until", until)
        given = _given(lists or ())
        if span is not None:
            asked = AskedSpan(span, near or 3, most_events or MOST_READ, seconds, megabytes)
            of = OfTheRule(read, Path(rule), streams or (), key, time, given)
            name = read.content.id if read.content is not None else rule
            print_span(name, why_in_span(asked, of, str(events)), as_json=as_json)
            return
        stream = stream_of(read, Path(rule), streams or ())
        found, seen = _events(events, None if stream is None else stream.schema)
        taken = found[: most_events or _MOST_EVENTS]
        tried = rule_to_try(
            read,
            source=Path(rule),
            stream=stream,
            seen=seen,
            key=key_expressions(key or (), {name for event in taken for name in event}),
            time=time,
            lists=given,
        )
        wanted = Wanted(keys, near or 1, only, until_ms)
        report = why(tried.written, taken, wanted, seconds=seconds, megabytes=megabytes)
    except (RuleRefused, NotTried, UnreadableEvents) as error:
        _fail(str(error))
    for warning in _warnings_of_events(read, key, tried.written.time.column, taken):
        _warn(warning)
    if until is None and any(_is_open(each) for each in report.keys):
        for warning in warning_of_open(read.pattern, "partial matches were"):
            _warn(warning)
    if as_json:
        typer.echo(json.dumps(report.model_dump(mode="json")))
        return
    name = read.content.id if read.content is not None else rule
    shown = ShownEvents(taken, tried.written.time.column, report.columns)
    print_why(name, report, shown, len(found) - len(taken))


@dataclass(frozen=True, slots=True)
class _AskedOfService:
    """What the service is asked about its rule, and how long its jobs or workers are waited for."""

    rule: str
    only: str | None
    span: KeySpan | None
    attempts: int
    wait_seconds: float


def _ask_service(client: Client, asked: _AskedOfService, *, as_json: bool) -> None:
    rule, wait_seconds = asked.rule, asked.wait_seconds
    if asked.span is not None:
        tell_explanation(
            client, rule, asked.span, asked.attempts, wait_seconds=wait_seconds, as_json=as_json
        )
    elif asked.only is not None:
        tell_partial_matches(client, rule, asked.only, wait_seconds=wait_seconds, as_json=as_json)
    else:
        tell_why(client, rule, as_json=as_json)


def _events(path: Path, schema: Schema | None) -> tuple[list[dict[str, Any]], Schema | None]:
    """Return the events of a file, and the columns that are given or that it shows."""
    try:
        content = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
        rows = event_rows(content, path.name, schema)
        return rows.all_typed(), rows.schema
    except OSError as error:
        raise UnreadableEvents(f"{path}: cannot read: {file_trouble(error)}") from None
    except UnreadableEvents as error:
        raise UnreadableEvents(f"{path}: {error}") from None


def _given(options: Sequence[str]) -> dict[str, GivenList]:
    try:
        return read_list_options(options)
    except ValueError as error:
        _fail(f"{error}")


def _span(begin: str | None, end: str | None, key: str, until: str | None) -> KeySpan | None:
    if begin is None and end is None:
        return None
    if begin is None or end is None:
        _fail("give both --from and --to, the time to tell of")
    if until is not None:
        _fail("--until goes without --from: time passes as the events of the archive tell")
    try:
        return KeySpan(key, _time_ms("--from", begin), _time_ms("--to", end))
    except BadQuestion as error:
        _fail(f"--to: {error}")


def _time_ms(option: str, text: str) -> int:
    try:
        return instant_ms(int(text) if text.lstrip("-").isdigit() else text)
    except ValueError as error:
        _fail(f"{option} {error}")


def _warnings_of_events(
    rule: FileRule, key: Sequence[str] | None, time: str, events: list[dict[str, Any]]
) -> Iterator[str]:
    keys = [each for each in key or rule.key_by if "`" not in each and (key or each.isidentifier())]
    check = EventCheck(rule.pattern, keys, time)
    for event in events:
        check.see(event)
    yield from check.warnings()


def _is_open(key: KeyReport) -> bool:
    return any(each.outcome == "open" for each in key.partial_matches)


def _warn(warning: str) -> None:
    told = printable(f"warning: {warning}")
    Console(stderr=True).print(told, style="yellow", markup=False, highlight=False, soft_wrap=True)


def _fail(message: str) -> NoReturn:
    typer.echo(f"percept why: {printable(message)}", err=True)
    raise typer.Exit(2)

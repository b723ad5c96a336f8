"""`percept match`: one rule or pattern over a file of events, on the terminal.

document + events ──► iter_matches ──► table or JSON Lines
"""

import gzip
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import IO, Annotated, Any, NoReturn, cast

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from cep.definition.one_rule import FileRule, RuleRefused, read_text, rule_of_text
from cep.events.table import UnreadableEvents, is_json_lines, read_mappings
from cep.expression import EvaluationError, Expression, compile_scalar, resolve
from cep.match_printing import Output, print_json, print_table
from cep.matching.event_check import EventCheck
from cep.matching.find_matches import KeyBy, iter_matches, to_time_ms
from cep.nfa.errors import MatchingError
from cep.pattern import Pattern
from cep.printable import printable
from cep.processor import SelectExpressions


class OutputFormat(StrEnum):
    """How matches are printed."""

    TABLE = "table"
    JSON = "json"


class _BadEventsError(Exception):
    """The file of events is not in JSON Lines format."""


def match(  # noqa: PLR0913 - the options of one command
    rule_path: Annotated[
        str, typer.Argument(metavar="RULE", help="Rule or pattern, YAML or JSON; - = stdin.")
    ],
    events_path: Annotated[
        Path,
        typer.Argument(
            metavar="EVENTS",
            help="Events in order of time: JSON Lines, CSV (both .gz too) or Parquet; - = stdin.",
        ),
    ],
    *,
    key: Annotated[
        list[str] | None,
        typer.Option(
            "--key", "-k", help="Key; repeat for several. Default: that of the rule, else one key."
        ),
    ] = None,
    rule_id: Annotated[
        str | None, typer.Option("--rule", help="Which rule, if the file holds several.")
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            "--time",
            "-t",
            help="Field of the event time (ms or ISO 8601). Default: that of the rule's stream, if "
            "its document is in the file or beside it, else ts.",
        ),
    ] = None,
    order_by: Annotated[
        str | None, typer.Option(help="Field that orders events of equal time.")
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(help="Advance time to here after the last event (ms or ISO 8601)."),
    ] = None,
    timeouts: Annotated[
        bool, typer.Option("--timeouts", help="Show partial matches that timed out, too.")
    ] = False,
    flink_quirks: Annotated[
        bool, typer.Option("--flink-quirks", help="Accept what Flink accepts and mangles.")
    ] = False,
    output: Annotated[
        OutputFormat, typer.Option("--format", "-f", help="How to print matches.")
    ] = OutputFormat.TABLE,
) -> None:
    """Find the matches of RULE in EVENTS.

    RULE is a whole rule, whose key, limits per key and output count as well, or a pattern alone.

    Exit code 0 = the whole input was read, 2 = the rule or the events are not usable.
    """
    if rule_path == str(events_path) == "-":
        _fail("standard input holds the rule or the events, not both")
    rule = _read_rule(rule_path, rule_id, flink_quirks=flink_quirks)
    pattern = rule.pattern
    time_field = time or rule.event_time_column(Path(rule_path)) or "ts"
    final_watermark_ms = _time_option(until)
    printer = print_json if output is OutputFormat.JSON else print_table
    check = EventCheck(pattern, key or filter(str.isidentifier, rule.key_by), time_field)
    still_open: list[int] = []
    try:
        with _open_events(events_path, check) as (events, progress):
            found = iter_matches(
                pattern,
                events,
                time_field=time_field,
                key_by=(key[0] if len(key) == 1 else tuple(key)) if key else _key_of(rule),
                order_by=order_by,
                final_watermark_ms=final_watermark_ms,
                require_order=True,
                limits=rule.limits,
                on_last_event=still_open.append,
            )
            wanted = (item for item in found if timeouts or not item.is_timeout)
            printer(wanted, progress, _output_of(rule))
    except (_BadEventsError, MatchingError, EvaluationError) as error:
        _fail(f"{events_path}: {error}")
    if final_watermark_ms is None and any(still_open) and _has_window(pattern):
        (count,) = still_open
        were = "1 partial match was" if count == 1 else f"{count:,} partial matches were"
        _warn(f"{were} open after the last event; --until closes windows, which may bring matches")
    for warning in check.warnings():
        _warn(warning)


def _key_of(rule: FileRule) -> KeyBy:
    """Return what gives the key of a rule: a field, fields, or a function for expressions."""
    keys = rule.key_by
    if not keys or rule.pattern.query is not None:
        return None
    if all(map(str.isidentifier, keys)):
        return keys[0] if len(keys) == 1 else keys
    columns = [compile_scalar(resolve(Expression.parse(text), ())) for text in keys]
    return lambda event: tuple(column(event, ()) for column in columns)


def _output_of(rule: FileRule) -> Output | None:
    """Return what gives the output of a match, `None` if the rule says nothing of it."""
    if rule.content is None or not rule.content.select:
        return None
    return SelectExpressions(rule.content.select, rule.pattern).row


def _has_window(pattern: Pattern) -> bool:
    if pattern.query is not None:
        return pattern.query.clause.within_ms is not None
    return any(element.within for element in pattern.tree.elements)


def _warn(text: str) -> None:
    console = Console(stderr=True)
    console.print(
        f"warning: {printable(text)}", style="yellow", markup=False, highlight=False, soft_wrap=True
    )


def _read_rule(path: str, rule_id: str | None, *, flink_quirks: bool) -> FileRule:
    try:
        rule = rule_of_text(read_text(path), path, rule_id=rule_id, flink_quirks=flink_quirks)
    except RuleRefused as error:
        _fail(f"{error}")
    for warning in rule.pattern.warnings():
        _warn(str(warning))
    if rule.content is not None and rule.content.function is not None:
        _warn("the function of the rule is not run; matches are shown as they are")
    return rule


def _time_option(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return to_time_ms(int(text) if text.lstrip("-").isdigit() else text)
    except ValueError as error:
        _fail(f"--until {error}")


@contextmanager
def _open_events(
    path: Path, check: EventCheck
) -> Iterator[tuple[Iterator[dict[str, Any]], Progress]]:
    """Open the events; reading them moves a progress bar on standard error."""
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[events]:,} events"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        disable=not sys.stderr.isatty(),
        transient=True,
    )
    if str(path) == "-":
        with progress:
            lines = _counted(sys.stdin, progress, None, lambda: 0)
            yield _parse(lines, str(path), check), progress
        return
    try:
        raw = path.open("rb")
    except OSError as error:
        raise _BadEventsError(f"cannot read: {error.strerror}") from error
    with raw, progress:
        if not is_json_lines(path.name):
            yield _rows(raw.read(), path.name, check), progress
            return
        binary = cast("IO[bytes]", gzip.GzipFile(fileobj=raw)) if path.suffix == ".gz" else raw
        texts = (line.decode("utf-8") for line in binary)
        lines = _counted(texts, progress, path.stat().st_size, raw.tell)
        yield _parse(lines, str(path), check), progress


def _rows(content: bytes, name: str, check: EventCheck) -> Iterator[dict[str, Any]]:
    try:
        events, _ = read_mappings(content, name)
    except UnreadableEvents as error:
        raise _BadEventsError(f"{error}") from error
    for event in events:
        check.see(event)
        yield event


def _counted(
    lines: Any, progress: Progress, total_bytes: int | None, position: Callable[[], int]
) -> Iterator[str]:
    task = progress.add_task("matching", total=total_bytes, events=0)
    number = 0
    try:
        for number, line in enumerate(lines, start=1):
            if number % 1_000 == 0:
                progress.update(task, completed=position(), events=number)
            yield line
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise _BadEventsError(f"line {number + 1}: cannot read: {error}") from error


def _parse(lines: Iterator[str], name: str, check: EventCheck) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            event = json.loads(line)
        except json.JSONDecodeError as error:
            raise _BadEventsError(
                f"line {number}, column {error.colno}: not JSON ({error.msg}); "
                f"{name} must hold one JSON object per line"
            ) from error
        if not isinstance(event, dict):
            raise _BadEventsError(f"line {number}: an event must be a JSON object")
        check.see(event)
        yield event


def _fail(message: str) -> NoReturn:
    typer.echo(f"percept match: {printable(message)}", err=True)
    raise typer.Exit(2)

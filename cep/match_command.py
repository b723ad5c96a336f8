"""`percept match`: one pattern over a file of events, on the terminal.

document + JSON Lines ──► iter_matches ──► table or JSON Lines
"""

import gzip
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import IO, Annotated, Any, NoReturn, cast

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from cep.expression import EvaluationError
from cep.matching.event_check import EventCheck
from cep.matching.find_matches import Match, TimedOutMatch, iter_matches, to_time_ms
from cep.nfa.errors import MatchingError
from cep.pattern import Pattern, PatternError


class OutputFormat(StrEnum):
    """How matches are printed."""

    TABLE = "table"
    JSON = "json"


class _BadEventsError(Exception):
    """The file of events is not in JSON Lines format."""


def match(  # noqa: PLR0913 - the options of one command
    pattern_path: Annotated[
        Path, typer.Argument(metavar="PATTERN", help="Pattern document, YAML or JSON.")
    ],
    events_path: Annotated[
        Path,
        typer.Argument(
            metavar="EVENTS", help="Events in order of time, JSON Lines (.gz too); - = stdin."
        ),
    ],
    *,
    key: Annotated[
        list[str] | None,
        typer.Option("--key", "-k", help="Field of the key; repeat for several. Default: one key."),
    ] = None,
    time: Annotated[
        str, typer.Option("--time", "-t", help="Field of the event time (ms or ISO 8601).")
    ] = "ts",
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
    """Find the matches of PATTERN in EVENTS.

    Exit code 0 = the whole input was read, 2 = the pattern or the events are not usable.
    """
    pattern = _read_pattern(pattern_path, flink_quirks=flink_quirks)
    final_watermark_ms = _time_option(until)
    printer = _print_json if output is OutputFormat.JSON else _print_table
    check = EventCheck(pattern, key or (), time)
    still_open: list[int] = []
    try:
        with _open_events(events_path) as (lines, progress):
            found = iter_matches(
                pattern,
                _parse(lines, str(events_path), check),
                time_field=time,
                key_by=tuple(key) if key and len(key) > 1 else key[0] if key else None,
                order_by=order_by,
                final_watermark_ms=final_watermark_ms,
                require_order=True,
                on_last_event=still_open.append,
            )
            wanted = (item for item in found if timeouts or not item.is_timeout)
            printer(wanted, progress)
    except (_BadEventsError, MatchingError, EvaluationError) as error:
        _fail(f"{events_path}: {error}")
    if final_watermark_ms is None and any(still_open) and _has_window(pattern):
        (count,) = still_open
        were = "1 partial match was" if count == 1 else f"{count:,} partial matches were"
        _warn(f"{were} open after the last event; --until closes windows, which may bring matches")
    for warning in check.warnings():
        _warn(warning)


def _has_window(pattern: Pattern) -> bool:
    if pattern.query is not None:
        return pattern.query.clause.within_ms is not None
    return any(element.within for element in pattern.tree.elements)


def _warn(text: str) -> None:
    console = Console(stderr=True)
    console.print(f"warning: {text}", style="yellow", markup=False, highlight=False, soft_wrap=True)


def _read_pattern(path: Path, *, flink_quirks: bool) -> Pattern:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        _fail(f"cannot read the pattern {path}: {error}")
    try:
        pattern = Pattern.from_yaml(text, flink_quirks=flink_quirks or None)
    except PatternError as error:
        _fail(f"{path}: {error}")
    for warning in pattern.warnings():
        _warn(str(warning))
    return pattern


def _time_option(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return to_time_ms(int(text) if text.lstrip("-").isdigit() else text)
    except ValueError as error:
        _fail(f"--until {error}")


@contextmanager
def _open_events(path: Path) -> Iterator[tuple[Iterator[str], Progress]]:
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
            yield _counted(sys.stdin, progress, None, lambda: 0), progress
        return
    try:
        raw = path.open("rb")
    except OSError as error:
        raise _BadEventsError(f"cannot read: {error.strerror}") from error
    with raw, progress:
        binary = cast("IO[bytes]", gzip.GzipFile(fileobj=raw)) if path.suffix == ".gz" else raw
        lines = (line.decode("utf-8") for line in binary)
        yield _counted(lines, progress, path.stat().st_size, raw.tell), progress


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


def _print_json(found: Iterator[Match | TimedOutMatch], progress: Progress) -> None:
    del progress
    for item in found:
        row = {
            "kind": "timeout" if item.is_timeout else "match",
            "key": item.key,
            "time_ms": item.time_ms,
            "at": item.at,
            "steps": item.steps,
        }
        typer.echo(json.dumps(row, ensure_ascii=False))


def _print_table(found: Iterator[Match | TimedOutMatch], progress: Progress) -> None:
    table = Table("", "time", "key", "events")
    for item in found:
        events = ", ".join(
            name if len(events) == 1 else f"{name} × {len(events)}"  # noqa: RUF001 - "times"
            for name, events in item.steps.items()
        )
        kind = "timeout" if item.is_timeout else "match"
        table.add_row(kind, _readable(item.time_ms), _spelled(item.key), events)
    progress.stop()
    console = Console()
    if table.row_count:
        console.print(table)
    console.print(f"{table.row_count:,} found", highlight=False)


def _spelled(key: object) -> str:
    if key is None:
        return ""
    return ", ".join(map(str, key)) if isinstance(key, tuple) else str(key)


def _readable(time_ms: int) -> str:
    return (
        datetime.fromtimestamp(time_ms / 1000, tz=UTC)
        .isoformat(sep=" ", timespec="milliseconds")
        .removesuffix("+00:00")
    )


def _fail(message: str) -> NoReturn:
    typer.echo(f"percept match: {message}", err=True)
    raise typer.Exit(2)

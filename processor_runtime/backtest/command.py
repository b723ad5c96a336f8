"""`percept backtest`: the composition root of a backtest of rules in files over events in files.

Exit codes: 0 = all rules ran; 1 = some failed or could not run; 2 = nothing could be run.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, NoReturn

import polars as pl
import typer
from pydantic import ValidationError
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from cep.definition.given_lists import GivenList, read_list_options
from cep.definition.list_documents import lists_at_hand, lists_beside
from cep.definition.rule_files import STANDARD_INPUT, FileDocument, read_documents
from cep.events.table import UnreadableEvents
from cep.expression import Schema
from cep.instants import instant_ms
from cep.keyed.event_check import warning_of_seconds
from cep.pattern import Pattern
from cep.pattern.document.files import SUFFIXES
from cep.signing.keys import SigningKeys
from contract.backtest_text import report_lines
from contract.problem_text import problem_text
from contract.snapshot import StreamDefinition
from discoverers.stream_options import StreamOptions
from processor_runtime.backtest.backtesting import Scored, run_backtest
from processor_runtime.backtest.given_lists import GivenLists, known_lists
from processor_runtime.backtest.history import (
    EventFile,
    PipedEvents,
    are_seconds,
    read_history,
    shown_columns,
)
from processor_runtime.backtest.labels import Labels, UnreadableLabels, read_labels
from processor_runtime.backtest.reporting import report_of
from processor_runtime.backtest.rules import (
    NothingToRun,
    ReadyRules,
    RulesInFiles,
    is_stream,
    ready,
    rules_in,
    streams_in,
)
from processor_runtime.rules.loading import RuleDefaults

FAILED = 1
NOTHING_RUN = 2

SigningKeysText = Annotated[
    str | None,
    typer.Option(
        envvar="PERCEPT_SIGNING_KEYS",
        help="Keys that Python code in rules is signed with.",
        show_envvar=True,
    ),
]


def backtest(  # noqa: PLR0913 - the options of one command
    rules: Annotated[
        list[Path],
        typer.Argument(
            metavar="RULE…", help="Files or folders of rules, as percept apply takes; - = stdin."
        ),
    ],
    *,
    events: Annotated[
        list[Path],
        typer.Option(
            "--events",
            "-e",
            help="Events of the past: JSON Lines, CSV, Parquet or Arrow IPC; - = stdin. May be "
            "repeated.",
        ),
    ],
    stream: Annotated[
        str | None, typer.Option(help="The stream whose rules run, if there are several.")
    ] = None,
    time: Annotated[
        str,
        typer.Option(
            "--time", "-t", help="Column of the event time, if no document defines the stream."
        ),
    ] = "ts",
    begin: Annotated[
        str | None, typer.Option("--from", help="Only events from here on (ISO 8601).")
    ] = None,
    end: Annotated[str | None, typer.Option("--to", help="Only events before (ISO 8601).")] = None,
    against: Annotated[
        list[Path] | None,
        typer.Option(help="Other versions of the rules, compared by id; may be repeated."),
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="CSV with match_id or key, and label (true or false).")
    ] = None,
    label_column: Annotated[
        str | None, typer.Option(help="Column of the events that is true for bad ones.")
    ] = None,
    lists: Annotated[
        list[str] | None,
        typer.Option(
            "--list",
            metavar="NAME=FILE",
            help="CSV with the values of a list that rules name; NAME:BIGINT=FILE, NAME:DATE=FILE "
            "if they are no text; may be repeated.",
        ),
    ] = None,
    leave_windows_open: Annotated[
        bool,
        typer.Option(
            "--leave-windows-open", help="Do not close windows that are open after the last event."
        ),
    ] = False,
    as_json_text: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    signing_keys: SigningKeysText = None,
) -> None:
    """Run the rules in files over events of the past, and tell what they would have found.

    What is found is what a job would have given out over these events, if none came late.

    Exit code 0 = all rules ran, 1 = some failed or could not run, 2 = nothing could be run.
    """
    if labels is not None and label_column is not None:
        _fail("give --labels or --label-column, not both")
    try:
        sources = _sources(events, (*rules, *(against or ())))
        documents = _documents(rules)
        streams = streams_in(documents)
        found = rules_in(documents, stream, streams)
        definition = found.stream or _shown_stream(sources[0], time)
        if label_column is not None:
            definition = _with_column(definition, sources[0], label_column)
        defaults = RuleDefaults(SigningKeys.from_text(signing_keys) if signing_keys else None)
        given = read_list_options(lists or ())
        run = ready(found.versions, definition, defaults, _lists(found, documents, given))
        other = _against(against, stream, definition, defaults, given)
        scored = None
        if labels is not None or label_column is not None:
            scored = Scored(read_labels(labels) if labels else Labels(), label_column)
        begin_ms, end_ms = _instant("--from", begin), _instant("--to", end)
        history = read_history(sources, definition, begin_ms, end_ms)
    except ValidationError as error:
        _fail(problem_text(error, StreamOptions))
    except (NothingToRun, UnreadableEvents, UnreadableLabels, ValueError) as error:
        _fail(f"{error}")
    problems = (*found.problems, *run.problems)
    for problem in problems:
        typer.echo(problem, err=True)
    _warn_of(history, definition)
    with _progress() as progress:
        sides = 1 if other is None else 2
        task = progress.add_task("matching", total=len(history) * sides)
        result = run_backtest(
            run,
            history,
            against=other,
            scored=scored,
            closes_windows=not leave_windows_open,
            on_events=lambda count: progress.advance(task, count),
        )
    report = report_of(result, problems)
    if as_json_text:
        typer.echo(report.model_dump_json(indent=2))
    else:
        for line in report_lines(report):
            typer.echo(line)
    if problems or any(rule.error for rule in result.findings.rules.values()):
        raise typer.Exit(FAILED)


def _sources(paths: list[Path], rules: Sequence[Path]) -> list[EventFile]:
    """Return files of events; what comes through a pipe is read now, and once."""
    if (*paths, *rules).count(STANDARD_INPUT) > 1:
        raise NothingToRun("standard input is named twice, and can be read only once")
    return [
        PipedEvents(sys.stdin.buffer.read()) if path == STANDARD_INPUT else path for path in paths
    ]


def _documents(paths: list[Path]) -> list[FileDocument]:
    """Return the documents of rules, and those of their streams that stand beside a named file."""
    documents, problems = read_documents(paths)
    if problems:
        raise NothingToRun("\n".join(map(str, problems)))
    beside = [file for path in paths if path.is_file() for file in sorted(path.parent.iterdir())]
    others, _ = read_documents(file for file in beside if file.suffix.lower() in SUFFIXES)
    return [*documents, *(each for each in others if is_stream(each)), *lists_beside(paths)]


def _lists(
    rules: RulesInFiles, documents: list[FileDocument], given: Mapping[str, GivenList]
) -> GivenLists:
    """Return the lists that rules name: given by name, or of documents among theirs."""
    patterns = (Pattern.from_document(each.definition["pattern"]) for each in rules.versions)
    names = {name for pattern in patterns for name in pattern.list_names}
    return known_lists(lists_at_hand(names, rules.name, documents, given).values())


def _against(
    paths: list[Path] | None,
    stream: str | None,
    definition: StreamDefinition,
    defaults: RuleDefaults,
    lists: Mapping[str, GivenList],
) -> ReadyRules | None:
    if not paths:
        return None
    documents = _documents(paths)
    found: RulesInFiles = rules_in(documents, stream, {})
    other = ready(found.versions, definition, defaults, _lists(found, documents, lists))
    if problems := (*found.problems, *other.problems):
        raise NothingToRun("\n".join(problems))
    return other


def _shown_stream(path: EventFile, time: str) -> StreamDefinition:
    return _defined(shown_columns(path, time), time, "events")


def _with_column(stream: StreamDefinition, path: EventFile, column: str) -> StreamDefinition:
    """Return a stream that has a column of the events, too."""
    schema = Schema.from_ddl(stream.ddl)
    if column in dict(schema.columns):
        return stream
    shown = dict(shown_columns(path, column).columns)
    wider = Schema((*schema.columns, (column, shown[column])))
    return _defined(wider, stream.event_time_column, stream.name, stream.order_by)


def _defined(
    schema: Schema, time: str, name: str, order_by: list[str] | None = None
) -> StreamDefinition:
    ddl = ", ".join(f"`{column}` {data_type}" for column, data_type in schema.columns)
    written = {"schema": ddl, "event_time_column": time, "order_by": order_by or []}
    return StreamOptions.model_validate(written).definition(name)


def _instant(option: str, text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return instant_ms(text)
    except ValueError as error:
        raise NothingToRun(f"{option} {text}: {error}") from None


def _warn_of(history: pl.DataFrame, stream: StreamDefinition) -> None:
    if are_seconds(history):
        typer.echo(f"warning: {warning_of_seconds(stream.event_time_column)}", err=True)


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} events"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        disable=not sys.stderr.isatty(),
        transient=True,
    )


def _fail(message: str) -> NoReturn:
    typer.echo(f"percept: {message}", err=True)
    raise typer.Exit(NOTHING_RUN)

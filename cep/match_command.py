"""`percept match`: one rule or pattern over a file of events, on the terminal.

document + events ──► iter_matches ──► table or JSON Lines
"""

from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from cep.definition.given_lists import read_list_options
from cep.definition.one_rule import FileRule, RuleRefused, RuleStream, read_text, rule_of_text
from cep.events.order import EventTime
from cep.events.table import UnreadableEvents
from cep.expression import (
    EvaluationError,
    Expression,
    Schema,
    compile_scalar,
    mapping_reader,
    resolve,
)
from cep.keyed.event_check import EventCheck, warning_of_open
from cep.match_input import open_events
from cep.match_printing import Output, print_jsonl, print_table
from cep.matching.find_matches import KeyBy, iter_matches, to_time_ms
from cep.nfa.errors import MatchingError
from cep.nfa.reachability import warnings_of
from cep.pattern import Pattern
from cep.printable import printable
from cep.processor import SelectExpressions
from cep.row_pattern.analysis.analyse import analyse
from cep.row_search.output import RowOutput


class OutputFormat(StrEnum):
    """How matches are printed."""

    TABLE = "table"
    JSONL = "jsonl"


def match(  # noqa: PLR0913 - the options of one command
    rule_path: Annotated[
        str, typer.Argument(metavar="RULE", help="Rule or pattern, YAML or JSON; - = stdin.")
    ],
    events_path: Annotated[
        Path,
        typer.Argument(
            metavar="EVENTS",
            help="Events in order of time: JSON Lines, CSV (both .gz too), Parquet or Arrow IPC; "
            "- = stdin.",
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
        str | None,
        typer.Option(help="Field that orders events of equal time. Default: those of the stream."),
    ] = None,
    until: Annotated[
        str | None, typer.Option(help="Advance time to here after the last event (ms or ISO 8601).")
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
    stream = _stream(rule, Path(rule_path))
    schema = None if stream is None else stream.schema
    pattern = _with_lists(rule, Path(rule_path), lists or ())
    order = EventTime("ts") if stream is None else stream.time
    order = EventTime(time or order.column, (order_by,) if order_by else order.order_by)
    final_watermark_ms = _time_option(until)
    printer = print_jsonl if output is OutputFormat.JSONL else print_table
    keys, is_name = (key, _is_field) if key else (rule.key_by, str.isidentifier)
    check = EventCheck(pattern, filter(is_name, keys), order.column)
    still_open: list[int] = []
    try:
        with open_events(events_path, check, schema) as (events, progress):
            found = iter_matches(
                pattern,
                events,
                time_field=order.column,
                key_by=_key_of(keys, schema, is_name),
                order_by=order.order(schema) or None,
                final_watermark_ms=final_watermark_ms,
                require_order=True,
                limits=rule.limits,
                schema=schema,
                on_last_event=still_open.append,
            )
            wanted = (item for item in found if timeouts or not item.is_timeout)
            printer(wanted, progress, _output_of(rule, pattern, schema))
    except (UnreadableEvents, MatchingError, EvaluationError) as error:
        _fail(f"{events_path}: {error}")
    if final_watermark_ms is None and any(still_open):
        (count,) = still_open
        were = "1 partial match was" if count == 1 else f"{count:,} partial matches were"
        for warning in warning_of_open(pattern, were):
            _warn(warning)
    for warning in check.warnings():
        _warn(warning)


def _with_lists(rule: FileRule, source: Path, options: Sequence[str]) -> Pattern:
    try:
        lists = rule.lists(source, read_list_options(options))
        return rule.pattern.with_lists(tuple(each.value_list() for each in lists))
    except ValueError as error:
        _fail(f"{error}")


def _stream(rule: FileRule, source: Path) -> RuleStream | None:
    """Return the stream of a rule, if it is at hand; the rule fits its columns."""
    try:
        stream = rule.stream(source)
        if stream is not None:
            rule.require_fit(stream)
    except RuleRefused as error:
        _fail(f"{error}")
    return stream


def _key_of(keys: Sequence[str], schema: Schema | None, is_name: Callable[[str], bool]) -> KeyBy:
    """Return what gives a key as a job writes it, a list of values: by fields or by expressions."""
    if not keys:
        return None
    if all(is_name(text) for text in keys):
        return tuple(keys)
    columns = [compile_scalar(resolve(Expression.parse(text), (), schema)) for text in keys]
    return lambda event: tuple(column(event, ()) for column in columns)


def _is_field(text: str) -> bool:
    """Return whether a key on the command line is a field, which may have dots in its name."""
    return "`" not in text


def _output_of(rule: FileRule, pattern: Pattern, schema: Schema | None) -> Output | None:
    """Return what gives the outputs of a match, `None` if the rule says nothing of them."""
    if pattern.query is not None:
        measures = RowOutput(analyse(pattern.query.clause, schema), mapping_reader)
        return lambda match: [] if match.rows is None else list(measures.dicts(match.rows))
    if rule.content is None or not rule.content.select:
        return None
    select = SelectExpressions(rule.content.select, rule.pattern)
    return lambda match: [select.row(match.steps)]


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
    for warning in warnings_of(rule.pattern):
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


def _fail(message: str) -> NoReturn:
    typer.echo(f"percept match: {printable(message)}", err=True)
    raise typer.Exit(2)

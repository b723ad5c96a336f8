"""`percept sql`: one MATCH_RECOGNIZE query over a file of events, on the terminal.

query + events ──► EventTable ──► match_recognize ──► table, JSON Lines or CSV
"""

import csv
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from enum import StrEnum
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

import typer
from rich.console import Console

from cep.events.table import EventTable, UnreadableEvents, read_events, reads_as_time
from cep.expression import ExpressionError, Schema
from cep.expression.functions.casting import to_text
from cep.file_trouble import file_trouble
from cep.matching.match_recognize import RecognizedRows, match_recognize
from cep.nfa.errors import MatchingError
from cep.pattern.row_patterns import columns_twice
from cep.printable import counted, json_text
from cep.row_pattern.clause import Clause, Name
from cep.row_pattern.errors import ClauseError
from cep.row_pattern.parsing.clauses import begins_query, read_query
from cep.terminal_tables import print_table

_SECONDS: Final = (10**8, 10**11)
"""Between these a whole number looks like seconds since 1970, of the years 1973 to 5138."""


class RowFormat(StrEnum):
    """How rows are printed."""

    TABLE = "table"
    JSONL = "jsonl"
    CSV = "csv"


def sql(
    query: Annotated[
        str,
        typer.Argument(
            metavar="QUERY",
            help="File with SELECT … FROM events MATCH_RECOGNIZE (…), or with the clause alone, or "
            "the SQL itself; - = stdin.",
        ),
    ],
    events_path: Annotated[
        Path,
        typer.Argument(
            metavar="EVENTS",
            help="Events: JSON Lines, CSV (both .gz too), Parquet or Arrow IPC; - = stdin.",
        ),
    ],
    *,
    ddl: Annotated[
        str | None,
        typer.Option(
            "--schema",
            help="The columns: user STRING, ts TIMESTAMP. Default: as the values show.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        RowFormat, typer.Option("--format", "-f", help="How to print the rows.")
    ] = RowFormat.TABLE,
) -> None:
    """Run QUERY, one MATCH_RECOGNIZE, over EVENTS.

    The end of the events is the end of every partition. Text in a column of ORDER BY that is
    ISO 8601 throughout is read as TIMESTAMP, or as DATE.

    Exit code 0 = the query ran, 2 = the query or the events are not usable.
    """
    if query == str(events_path) == "-":
        _fail("standard input holds the query or the events, not both")
    text, name = _query(query)
    try:
        read = read_query(text)
    except ClauseError as error:
        _fail(f"{name}: {error}")
    if twice := next(columns_twice(read), None):
        _fail(f"{name}: {twice}")
    clause = read.clause
    events = _events(events_path, ddl).with_times(o.column.text for o in clause.order_by)
    try:
        result = match_recognize(text, events.rows, schema=events.schema)
    except (ClauseError, MatchingError) as error:
        _fail(f"{name}: {error}")
    for warning in (*_warnings_of_events(clause, events), *_warnings_of_result(clause, result)):
        Console(stderr=True).print(
            f"warning: {warning}", style="yellow", highlight=False, markup=False, soft_wrap=True
        )
    _PRINTERS[output](result)


def _query(source: str) -> tuple[str, str]:
    """Return the text of the query, and what errors call it."""
    if begins_query(source):
        return source, "the query"
    name = "standard input" if source == "-" else source
    try:
        content = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
        return content.decode("utf-8"), name
    except (OSError, UnicodeDecodeError) as error:
        _fail(
            f"cannot read the query {name}: {file_trouble(error)}.\n"
            "Give a file, or SQL that begins with MATCH_RECOGNIZE or SELECT."
        )


def _events(path: Path, ddl: str | None) -> EventTable:
    try:
        schema = None if ddl is None else Schema.from_ddl(ddl)
    except ExpressionError as error:
        _fail(f"--schema: {error}")
    try:
        content = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
        return read_events(content, path.name, schema)
    except OSError as error:
        _fail(f"{path}: cannot read: {file_trouble(error)}")
    except UnreadableEvents as error:
        _fail(f"{path}: {error}")


# What gives a wrong answer without a word


def _warnings_of_events(clause: Clause, events: EventTable) -> Iterator[str]:
    for name in clause.partition_by:
        values = _values(events, name)
        missing = values.count(None)
        if missing and missing == len(values):
            yield f"no event has {name.text}, so PARTITION BY {name.text} makes one partition"
        elif missing:
            yield (
                f"{missing:,} of {len(values):,} events have no {name.text}; "
                "together they are one partition, as in SQL"
            )
    if not clause.order_by:
        yield "without ORDER BY the events are taken in the order of the file"
    for order in clause.order_by:
        yield from _warnings_of_order(order.column, events)
    if clause.within_ms is not None:
        yield from _warnings_of_time(clause.order_by[0].column, events)


def _warnings_of_order(name: Name, events: EventTable) -> Iterator[str]:
    values = _values(events, name)
    if missing := values.count(None):
        yield f"{missing:,} of {len(values):,} events have no {name.text}; they come last"
    texts = [value for value in values if isinstance(value, str)]
    odd = next((text for text in texts if not reads_as_time(text)), None)
    if odd is not None and any(map(reads_as_time, texts)):
        yield f"{name.text} is ordered as text: {odd[:80]!r} is no time"


def _warnings_of_time(name: Name, events: EventTable) -> Iterator[str]:
    numbers = [abs(value) for value in _values(events, name) if isinstance(value, int)]
    if numbers and all(_SECONDS[0] <= number < _SECONDS[1] for number in numbers):
        yield f"WITHIN takes {name.text} as milliseconds since 1970; its values look like seconds"


def _values(events: EventTable, name: Name) -> list[Any]:
    """Return the values of a column, which is known to be there."""
    known_names = [known for known, _ in events.schema.columns]
    same = [known for known in known_names if known.casefold() == name.text.casefold()]
    return events.column(name.text if name.text in same else same[0])


def _warnings_of_result(clause: Clause, result: RecognizedRows) -> Iterator[str]:
    conditions = {each.variable.folded: each.condition.text for each in clause.definitions}
    for variable in result.never:
        condition = " ".join(conditions.get(variable, "").split())
        yield f"no event can be {variable}: {condition}"
    if result.open_at_end:
        matches = counted(result.matches, "match", "matches")
        yield (
            f"{result.open_at_end:,} of {matches} were open when the events ended; later events "
            "could change them"
        )
    for name, count in Counter(result.columns).items():
        if count > 1:
            yield f"{count} columns of the result are called {name}"


# Output


def _print_table(result: RecognizedRows) -> None:
    rows = ([_shown(value) for value in row] for row in result.rows)
    print_table(result.columns, rows, has_frame=True)
    found = f"{counted(len(result.rows), 'row')}, {counted(result.matches, 'match', 'matches')}"
    typer.echo(found)


def _print_jsonl(result: RecognizedRows) -> None:
    if len(set(result.columns)) < len(result.columns):
        _fail("JSON needs columns with different names; rename one, or print as csv")
    for row in result.rows:
        values = zip(result.columns, map(_plain, row), strict=True)
        typer.echo(json_text(dict(values)))


def _print_csv(result: RecognizedRows) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(result.columns)
    writer.writerows([["" if v is None else _shown(v) for v in row] for row in result.rows])


_PRINTERS: Final[dict[RowFormat, Callable[[RecognizedRows], None]]] = {
    RowFormat.TABLE: _print_table,
    RowFormat.JSONL: _print_jsonl,
    RowFormat.CSV: _print_csv,
}


def _shown(value: Any) -> str:
    """Return a value as a cell: as CAST to STRING writes it."""
    if value is None:
        return "NULL"
    if isinstance(value, list | dict):
        return json_text(_plain(value))
    return to_text(value)


def _plain(value: Any) -> Any:
    """Return a value as JSON can hold it: times as ISO 8601, what has no form there as text."""
    match value:
        case list():
            return [_plain(item) for item in value]
        case dict():
            return {name: _plain(item) for name, item in value.items()}
        case datetime():
            moment = value if value.tzinfo is None else value.astimezone(UTC)
            return moment.isoformat().replace("+00:00", "Z")
        case float() if not isfinite(value):
            return to_text(value)
        case None | bool() | int() | float() | str():
            return value
        case _:
            return to_text(value)


def _fail(message: str) -> NoReturn:
    typer.echo(f"percept sql: {message}", err=True)
    raise typer.Exit(2)

"""Prints the matches that `percept match` finds: a table for people, JSON Lines for programs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import typer
from rich.progress import Progress

from cep import terminal_tables
from cep.matching.find_matches import Match, TimedOutMatch
from cep.printable import json_text

Output = Callable[[Match], Sequence[Mapping[str, Any]]]
"""Gives the outputs of a match: one, but of a clause with ALL ROWS PER MATCH."""


def print_jsonl(
    found: Iterator[Match | TimedOutMatch], progress: Progress, output_of: Output | None
) -> None:
    """Print each match as a line of JSON, with its output if the rule says what that is."""
    del progress
    for item in found:
        row = {
            "kind": "timeout" if item.is_timeout else "match",
            "key": item.key,
            "time_ms": item.time_ms,
            "at": item.at,
            "steps": item.steps,
        }
        if output_of is not None and isinstance(item, Match):
            outputs = output_of(item)
            row["output"] = outputs[0] if len(outputs) == 1 else outputs
        typer.echo(json_text(row, default=_written))


def print_table(
    found: Iterator[Match | TimedOutMatch], progress: Progress, output_of: Output | None
) -> None:
    """Print matches as a table, once all are found."""
    rows = []
    for item in found:
        events = ", ".join(
            name if len(events) == 1 else f"{name} × {len(events)}"  # noqa: RUF001 - "times"
            for name, events in item.steps.items()
        )
        cells = ["timeout" if item.is_timeout else "match", _readable(item.time_ms)]
        cells += [_spelled(item.key), events]
        if output_of is not None:
            outputs = output_of(item) if isinstance(item, Match) else ()
            cells.append("; ".join(map(_output_text, outputs)))
        rows.append(cells)
    progress.stop()
    columns = ("", "time", "key", "events", *(["output"] if output_of else []))
    typer.echo(f"{terminal_tables.print_table(columns, rows, has_frame=True):,} found")


def _written(value: Any) -> str:
    """Return a value that JSON has no form for as text: a time as ISO 8601."""
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    return str(value)


def _output_text(row: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {_shown(v)}" for name, v in row.items())


def _shown(value: Any) -> str:
    return "NULL" if value is None else _written(value)


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

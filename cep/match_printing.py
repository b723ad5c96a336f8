"""Prints the matches that `percept match` finds: a table for people, JSON Lines for programs."""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import typer
from rich.progress import Progress

from cep import terminal_tables
from cep.matching.find_matches import Match, TimedOutMatch
from cep.printable import json_text
from cep.processor import Steps

Output = Callable[[Steps], Mapping[str, Any]]
"""Gives the output of a match from its events."""


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
        if output_of is not None and not item.is_timeout:
            row["output"] = output_of(item.steps)
        typer.echo(json_text(row, default=str))


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
            cells.append("" if item.is_timeout else _told_output(output_of(item.steps)))
        rows.append(cells)
    progress.stop()
    columns = ("", "time", "key", "events", *(["output"] if output_of else []))
    typer.echo(f"{terminal_tables.print_table(columns, rows, has_frame=True):,} found")


def _told_output(row: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {'NULL' if v is None else v}" for name, v in row.items())


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

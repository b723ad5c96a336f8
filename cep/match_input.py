"""The events that `percept match` reads: from a file or a pipe, line by line where they are lines.

path or - ──first bytes──► JSON Lines, one at a time ──┐
                         ► a table, all of it ─────────┴──► mappings, each seen by EventCheck
"""

import gzip
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any, Final, cast

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from cep.events.table import EventRows, UnreadableEvents, event_rows, is_json_lines, json_objects
from cep.expression import Schema
from cep.file_trouble import file_trouble
from cep.keyed.event_check import EventCheck

_HEAD_BYTES: Final = 8
"""So many bytes tell JSON Lines from tables; the first event of a live pipe has as many."""


@contextmanager
def open_events(
    path: Path, check: EventCheck, schema: Schema | None = None
) -> Iterator[tuple[Iterator[dict[str, Any]], Progress]]:
    """Open the events; reading them moves a progress bar on standard error.

    The first bytes of standard input, `-`, tell its format. `check` sees each event as it is read;
    by default values of events stay as they are.

    Raises:
        UnreadableEvents: they cannot be read, when they are opened or as they are read; says where.
    """
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[events]:,} events"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        disable=not sys.stderr.isatty(),
        transient=True,
    )
    is_piped = str(path) == "-"
    try:
        opened = nullcontext(cast("IO[bytes]", sys.stdin.buffer)) if is_piped else path.open("rb")
    except OSError as error:
        raise UnreadableEvents(f"cannot read: {file_trouble(error)}") from error
    with opened as raw, progress:
        unpacks = path.suffix == ".gz"
        content = cast("IO[bytes]", gzip.GzipFile(fileobj=raw)) if unpacks else raw
        head = _read(content, _HEAD_BYTES)
        if not is_json_lines(path.name, head):
            rows = event_rows(head + _read(content), path.name, schema)
            yield _seen(rows.typed(), check), progress
            return
        total_bytes = None if is_piped else path.stat().st_size
        position = (lambda: 0) if is_piped else raw.tell
        lines = _counted(_lines(head, content), progress, total_bytes, position)
        rows = EventRows.of_json(json_objects(lines, schema), schema)
        yield _seen(rows.typed(), check), progress


def _read(content: IO[bytes], size: int = -1) -> bytes:
    try:
        return content.read(size)
    except (OSError, EOFError) as error:
        raise UnreadableEvents(f"cannot read: {file_trouble(error)}") from error


def _seen(events: Iterable[dict[str, Any]], check: EventCheck) -> Iterator[dict[str, Any]]:
    for event in events:
        check.see(event)
        yield event


def _lines(head: bytes, rest: IO[bytes]) -> Iterator[bytes]:
    """Yield all lines, of which the first bytes are read already."""
    yield from (head + rest.readline()).splitlines(keepends=True)
    yield from rest


def _counted(
    lines: Iterable[bytes], progress: Progress, total_bytes: int | None, position: Callable[[], int]
) -> Iterator[bytes]:
    task = progress.add_task("matching", total=total_bytes, events=0)
    number = 0
    try:
        for number, line in enumerate(lines, start=1):
            if number % 1_000 == 0:
                progress.update(task, completed=position(), events=number)
            yield line
    except (OSError, EOFError) as error:
        raise UnreadableEvents(f"line {number + 1}: cannot read: {file_trouble(error)}") from error

"""The first events that a job would read from local files: how many of them it could not read.

JobFile, stream ──► the first file at its source ──`cep.events.table`──► FirstEvents

Only JSON and CSV whose options leave the values as they are; what Spark alone reads is not tried.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

from cep.events.files import event_files
from cep.events.table import EventRows, UnreadableEvents, event_rows
from cep.events.values import UnfitValue, typed_event
from cep.expression import Schema
from cep.file_trouble import file_trouble
from cep.pattern import Problem
from contract.snapshot import StreamDefinition
from processor_runtime.job_file.computed import schema_read
from processor_runtime.job_file.job import JobFile
from processor_runtime.job_file.source import Source

_MOST_EVENTS: Final = 2_000
_MOST_BYTES: Final = 4_000_000


@dataclass(frozen=True, slots=True)
class FirstEvents:
    """How many events were looked at, how many of them could not be read, and why the first."""

    place: str
    file: Path
    count: int
    unread: int
    reason: str

    @property
    def are_all_unread(self) -> bool:
        """Whether the job would find nothing in them."""
        return self.unread == self.count

    def problem(self) -> Problem:
        """Return what to tell of them."""
        message = f"{self.unread:,} of the first {self.count:,} events could not be read: "
        remedy = f"Compare {self.file.name} with the schema of the stream."
        return Problem(f"{self.place}.path", f"{message}{self.reason}.", remedy)


def first_events(job: JobFile, stream: StreamDefinition) -> Iterator[FirstEvents]:
    """Yield what can be said of the first events at each source where something is wrong.

    `stream`: the stream that it reads, as its source of rules has it.
    """
    for place, source in job.placed_sources:
        if (found := _first_events(place, source, job.source_column, stream)) is not None:
            yield found


def _first_events(
    place: str, source: Source, source_column: str | None, stream: StreamDefinition
) -> FirstEvents | None:
    files = event_files(source.path or "") if _is_plain(source) else ()
    first = next(filter(_is_tried, files), None)
    if first is None:
        return None
    schema = schema_read(source, Schema.from_ddl(stream.ddl), source_column)
    names = {name: source.columns.get(name, name) for name, _ in schema.columns}
    at_source = Schema(tuple((names[name], kind) for name, kind in schema.columns))
    reasons: list[str] = []
    try:
        rows = event_rows(_head(first), f"events.{source.format}", at_source)
        time_column = names.get(stream.event_time_column)
        found = islice(rows.rows, _MOST_EVENTS)
        reasons.extend(_reason(event, rows, time_column) for event in found)
    except (OSError, UnreadableEvents) as error:
        reasons.append(file_trouble(error))
    unread = list(filter(None, reasons))
    return FirstEvents(place, first, len(reasons), len(unread), unread[0]) if unread else None


def _is_tried(file: Path) -> bool:
    size_bytes = file.stat().st_size
    return bool(size_bytes) and (size_bytes <= _MOST_BYTES or file.suffix.lower() != ".gz")


def _head(file: Path) -> bytes:
    with file.open("rb") as opened:
        content = opened.read(_MOST_BYTES)
    return content if len(content) < _MOST_BYTES else content[: content.rfind(b"\n") + 1]


def _is_plain(source: Source) -> bool:
    options = {name.lower(): value for name, value in source.reader_options.items()}
    has_header = options.pop("header", "false").lower() == "true"
    options.pop("maxfilespertrigger", None)
    is_read_here = source.format == "json" or (source.format == "csv" and has_header)
    return is_read_here and not options and "://" not in (source.path or "")


def _reason(event: dict[str, Any], rows: EventRows, time_column: str | None) -> str:
    try:
        columns = typed_event(event, rows.readers)
    except UnfitValue as unfit:
        return f"{unfit.column}: {unfit}"
    # A time that is computed is not tried.
    is_missing = time_column is not None and columns.get(time_column) is None
    return f"it has no {time_column}" if is_missing else ""

"""What Spark has written in the checkpoint about a batch before it runs it.

    <checkpoint>/offsets/<batch id> ──planned_batch──► BatchStart ──► pin
    <checkpoint>/offsets/<batch id> ──source_position──► how far the batch reads its events
    number of sources of a plan     ──fit_sources────► the newest files name as many
    <checkpoint>/sources/<source>   ──files_of_batch─► the files that have arrived for a batch

A file is a line with a version, a line with the time, and a line with the position of each source,
in the order of the plan: sources of events as the job file names them, then ticks, if the plan has
any. Each source of files has a log by its number, of which `<number>.compact` has all lines before.
"""

from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

from pydantic_core import from_json

from processor_runtime.driver.checked_files import Files
from processor_runtime.schedule.batch_clock import NO_WATERMARK_MS

BEFORE_SOURCES: Final = 2
NO_POSITION: Final = b"-"
_READ_AT_A_START: Final = 2
"""Spark starts from the positions in the newest file, and in the one before."""


@dataclass(frozen=True, slots=True)
class BatchStart:
    """What Spark has decided about a batch: its number, the watermark, when it was planned.

    `watermark_ms` is `NO_WATERMARK_MS` before the first event. `reads` says of each source of
    events whether the batch reads something from it, `has_tick` whether it does so from ticks.
    """

    batch_id: int
    watermark_ms: int
    processing_time_ms: int
    reads: tuple[bool, ...] = (True,)
    has_tick: bool = False


def planned_batch(files: Files, batch_id: int, *, has_ticks: bool) -> BatchStart:
    """Return what Spark has written about a batch.

    `has_ticks`: whether the plan has a source of ticks.

    Raises:
        LookupError: it has written nothing.
    """
    lines = plan_lines(files, batch_id)
    if lines is None:
        raise LookupError(f"the checkpoint has no offsets/{batch_id}")
    metadata = from_json(lines[1])
    before = plan_lines(files, batch_id - 1)
    positions = lines[BEFORE_SOURCES:]
    known = [] if before is None else before[BEFORE_SOURCES:]
    moved = [now != then for now, then in zip(positions, known, strict=False)]
    moved += [now != NO_POSITION for now in positions[len(known) :]]
    return BatchStart(
        batch_id,
        # Spark begins with 0, which may be the time of an event.
        metadata["batchWatermarkMs"] or NO_WATERMARK_MS,
        metadata["batchTimestampMs"],
        reads=tuple(moved[:-1] if has_ticks else moved),
        has_tick=has_ticks and moved[-1],
    )


def source_position(files: Files, batch_id: int, source: int = 0) -> bytes | None:
    """Return up to where a batch reads a source of events, as Spark writes it.

    `source`: its number. `None` is returned if the batch is not known, or nothing had been read.
    """
    lines = plan_lines(files, batch_id)
    if lines is None or lines[BEFORE_SOURCES + source] == NO_POSITION:
        return None
    return lines[BEFORE_SOURCES + source]


def source_log(source: int) -> str:
    """Return where Spark keeps in a checkpoint what it knows of a source, by its number."""
    return f"sources/{source}"


def fit_sources(files: Files, *, has_ticks: bool, sources: int = 1) -> None:
    """Let a query with ticks continue from a checkpoint without, and the other way round.

    Spark refuses a checkpoint with another number of sources than the query. A source of ticks has
    nothing that could be lost: its position is forgotten, or it has none yet.

    Args:
        files: the checkpoint, which no query runs on.
        has_ticks: whether the plan of the next query has a source of ticks.
        sources: how many sources of events it has, which is as many as before.
    """
    count = BEFORE_SOURCES + sources + has_ticks
    numbers = sorted(int(name) for name in files.names("offsets") if name.isdecimal())
    for number in numbers[-_READ_AT_A_START:]:
        lines = plan_lines(files, number)
        if lines is None or len(lines) == count:
            continue
        fitting = [*lines, NO_POSITION][:count]
        files.write(f"offsets/{number}", b"\n".join(fitting))


def plan_lines(files: Files, batch_id: int) -> list[bytes] | None:
    """Return the lines that Spark has written about a batch; `None` if there is no such file."""
    data = files.read(f"offsets/{batch_id}")
    return None if data is None else data.rstrip(b"\n").split(b"\n")


def files_of_batch(files: Files, batch_id: int, source: int = 0) -> list[str]:
    """Return the files that a batch reads, as URIs without escapes, in the order they arrived in.

    `files`: the checkpoint of a query. `source`: the number of a source of files.
    """
    begin, end = _logged(files, batch_id - 1, source), _logged(files, batch_id, source)
    log = source_log(source)
    return [path for number in range(begin + 1, end + 1) for path in _entries(files, log, number)]


def _logged(files: Files, batch_id: int, source: int) -> int:
    """Return the number of the last entry of the log that a batch and those before have read."""
    position = source_position(files, batch_id, source)
    return -1 if position is None else int(from_json(position)["logOffset"])


def _entries(files: Files, log: str, number: int) -> list[str]:
    """Return the files in one entry of the log; none if Spark has cleaned it up."""
    data = files.read(f"{log}/{number}") or files.read(f"{log}/{number}.compact") or b""
    # The first line is the version of the format.
    lines: list[dict[str, Any]] = [from_json(line) for line in data.splitlines()[1:] if line]
    return [unquote(line["path"]) for line in lines if line["batchId"] == number]

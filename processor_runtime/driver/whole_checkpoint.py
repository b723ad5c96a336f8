"""Whether a checkpoint has all its parts: looked at once, before a job goes on from it.

checkpoint ──require_whole──► nothing, or CheckpointDamaged: the part that is missing or damaged

A batch leaves its parts in a fixed order: Spark's plan (`offsets`), our record (`epochs`), state,
and Spark's mark that it is done (`commits`). A checkpoint of which something was deleted, or that
was copied while a job wrote it, breaks that order; going on from it would lose matches in silence.
"""

import re
from typing import Any, Final

from pydantic_core import from_json

from processor_runtime.driver.batch_record import BatchRecords
from processor_runtime.driver.checked_files import CheckpointDamaged, Files, required
from processor_runtime.driver.offset_log import BEFORE_SOURCES, NO_POSITION, plan_lines, source_log
from processor_runtime.driver.source_times import DIRECTORY
from processor_runtime.rules.alerts import budgets_of, groupings_of
from processor_runtime.schedule.timeline_document import read_timeline

_NONE: Final = -1
_STATE: Final = "state/0"
_DIRECTORIES: Final = ("offsets", "epochs", "commits")


def require_whole(files: Files, shards: int, sources: int = 1) -> None:
    """Return if a job can go on from a checkpoint, or begin in it.

    `files`: the checkpoint, which no query runs on. `sources`: how many sources of events it has.

    Raises:
        CheckpointDamaged: a part is missing or damaged.
    """
    planned, pinned, done = (newest_batch(files, each) for each in _DIRECTORIES)
    last = max(planned, pinned, done)
    if last == _NONE:
        if files.names("rules") or files.names("state"):
            raise CheckpointDamaged("offsets", "is missing")
        return
    _require_json(files, "metadata", lines_before=0)
    # A batch that is planned may not be pinned yet, one that is pinned not done.
    least = (last, max(done, last - 1), last - 1)
    for directory, newest, batch_id in zip(
        _DIRECTORIES, (planned, pinned, done), least, strict=True
    ):
        if newest < batch_id:
            raise CheckpointDamaged(f"{directory}/{batch_id}", "is missing")
    for batch_id in range(max(0, planned - 1), planned + 1):
        positions = _positions(files, batch_id, sources)
    for source, position in enumerate(positions):
        _require_log(files, source_log(source), position)
    for batch_id in {pinned, done} - {_NONE}:
        _require_record(files, batch_id)
    if done != _NONE:
        _require_json(files, f"commits/{done}", lines_before=1)
        _require_alerts(files, done)
        _require_times(files, done)
        _require_state(files, shards, done)


def _positions(files: Files, batch_id: int, sources: int) -> list[bytes]:
    """Return up to where a batch reads each source of events, if Spark's plan of it is whole."""
    name = f"offsets/{batch_id}"
    lines = plan_lines(files, batch_id)
    if lines is None:
        raise CheckpointDamaged(name, "is missing")
    _require_version(name, lines)
    metadata = _object(name, lines[1]) if len(lines) >= BEFORE_SOURCES + sources else {}
    if not {"batchWatermarkMs", "batchTimestampMs"} <= metadata.keys():
        raise CheckpointDamaged(name, "is not as Spark writes it")
    positions = lines[BEFORE_SOURCES : BEFORE_SOURCES + sources]
    for position in positions:
        if position != NO_POSITION:
            _object(name, position)
    return positions


def _require_log(files: Files, log: str, position: bytes) -> None:
    """Require the log of the files that a source has found, as far as a batch has read it."""
    # Positions in a log of Spark's sources of files; those of Kafka and others have other keys.
    last = None if position == NO_POSITION else from_json(position).get("logOffset")
    if not isinstance(last, int):
        return
    names = [name for name in files.names(log) if name.removesuffix(".compact").isdecimal()]
    compact = [int(name.removesuffix(".compact")) for name in names if name.endswith(".compact")]
    begin = max((number for number in compact if number <= last), default=0)
    for number in range(begin, last + 1):
        plain = f"{log}/{number}"
        name = f"{plain}.compact" if number in compact else plain
        lines = required(files, name).splitlines()
        _require_version(name, lines)
        for line in lines[1:]:
            if not {"path", "batchId"} <= _object(name, line).keys():
                raise CheckpointDamaged(name, "is not as Spark writes it")


def _require_record(files: Files, batch_id: int) -> None:
    """Require the record of a batch, and that what it names is there; who reads it, checks it."""
    record = BatchRecords(files).of_batch(batch_id)
    if record is None:
        raise CheckpointDamaged(f"epochs/{batch_id}", "is missing")
    there = {f"rules/{name}" for name in files.names("rules")}
    for name in (record.timeline, record.snapshot, *record.lists):
        if name not in there:
            raise CheckpointDamaged(name, "is missing")


def _require_alerts(files: Files, done: int) -> None:
    """Require budgets and groups as the last batch left them, if a rule of it has any."""
    records = BatchRecords(files)
    if (record := records.of_batch(done)) is None:
        return
    timeline, _ = read_timeline(records.read_content(record.timeline))
    if budgets_of(timeline.intervals):
        required(files, f"budgets/{done}")
    if groupings_of(timeline.intervals):
        required(files, f"groups/{done}")


def _require_times(files: Files, done: int) -> None:
    """Require how far each of several sources has come with the last batch."""
    record = BatchRecords(files).of_batch(done)
    if record is not None and record.sources_ms:
        required(files, f"{DIRECTORY}/{done}")


def _require_state(files: Files, shards: int, done: int) -> None:
    """Require the state of each shard as the last batch has left it."""
    of_version = re.compile(rf"{done + 1}(_.+)?\.\w+")
    for shard in range(shards):
        directory = f"{_STATE}/{shard}"
        if not any(map(of_version.fullmatch, files.names(directory))):
            raise CheckpointDamaged(f"{directory}/{done + 1}.zip", "is missing")


def _require_json(files: Files, name: str, lines_before: int) -> None:
    lines = required(files, name).rstrip(b"\n").split(b"\n")
    if lines_before:
        _require_version(name, lines)
    if len(lines) <= lines_before:
        raise CheckpointDamaged(name, "is not as Spark writes it")
    _object(name, lines[lines_before])


def _require_version(name: str, lines: list[bytes]) -> None:
    if not lines or not re.fullmatch(rb"v\d+", lines[0]):
        raise CheckpointDamaged(name, "is not as Spark writes it")


def _object(name: str, line: bytes) -> dict[str, Any]:
    try:
        content = from_json(line)
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise CheckpointDamaged(name, "is not as Spark writes it")
    return content


def newest_batch(files: Files, directory: str) -> int:
    """Return the number of the newest batch in a directory of the checkpoint; -1 without any."""
    # A record that was amended has its revision after a dot.
    numbers = (name.partition(".")[0] for name in files.names(directory))
    return max((int(number) for number in numbers if number.isdecimal()), default=_NONE)

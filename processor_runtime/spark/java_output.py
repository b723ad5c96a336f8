"""What Spark's Java process prints: kept in a file, and what it says there of a failure.

    percept run ──starts──► Java process ──prints──► file ──last thread that died──► root cause

So the job's own lines stay readable. State is kept by a thread of the Java process that a worker
talks to. Where it dies, as when the disk is full, the worker sees the end of a connection, and that
is all that Spark passes on to the driver.
"""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from cep.file_trouble import file_trouble
from processor_runtime.spark.failure_text import reason_in

_READ_BYTES: Final = 1_000_000
_BROKEN_OFF: Final = re.compile(r"^EOFError \(serializers\.py, line \d+\)")
_DIED: Final = re.compile(r'^Exception in thread "[^"]*" (.+)$')
_CAUSE: Final = re.compile(r"^Caused by: (.+)$")


class LogRefused(RuntimeError):
    """The file cannot be written to; the message says which, why, and what to do."""


@contextmanager
def java_output_to(path: Path) -> Iterator[None]:
    """Append the output of processes that are started inside the block to a file.

    They write to it until they end; this process prints as before after the block.

    Raises:
        LogRefused: it cannot be written to.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        target = path.open("ab")
    except OSError as error:
        raise LogRefused(f"{path} cannot be written: {file_trouble(error)}") from None
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(1), os.dup(2)]
    try:
        with target:
            os.dup2(target.fileno(), 1)
            os.dup2(target.fileno(), 2)
        yield
    finally:
        for number, original in zip((1, 2), kept, strict=True):
            os.dup2(original, number)
            os.close(original)


def with_java_output(reason: str, log: Path, *, since: int) -> str:
    """Return the reason of a failure; of a connection that broke off, what Java said of it.

    `reason`: what was passed on, as `ending_text` tells it. `since`: how long the log was when that
    process began.
    """
    if not _BROKEN_OFF.match(reason):
        return reason
    told = _last_death(_end_of(log, since))
    because = f"{told}. See {log}" if told else f"see {log}"
    return f"Spark broke off the connection of a worker to its state: {because}"


def _end_of(log: Path, since: int) -> list[str]:
    try:
        with log.open("rb") as file:
            file.seek(max(since, file.seek(0, 2) - _READ_BYTES))
            return file.read().decode(errors="replace").splitlines()
    except OSError:
        return []


def _last_death(lines: list[str]) -> str | None:
    """Return the root cause of the last thread that an exception has ended."""
    told: str | None = None
    is_inside = False
    for line in lines:
        if found := _DIED.match(line):
            told, is_inside = found[1], True
        elif is_inside and (found := _CAUSE.match(line)):
            told = found[1]
        elif not line.startswith(("\t", "Caused by: ")):
            is_inside = False
    return None if told is None else reason_in(told)

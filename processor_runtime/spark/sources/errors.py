"""Errors of a source, and their text."""

import re
from typing import Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from processor_runtime.spark.failure_text import failure_text

_CONDITION: Final = re.compile(r"\[([A-Z0-9_]+)")
_UNREAD: Final = re.compile(
    r"\[FAILED_READ_FILE[\w.]*\] Encountered error while reading file (\S.*?)\.(?:\s|$)"
)
_CAUSE: Final = re.compile(r"^Caused by: [\w.$]+: ([^\n]*)", re.MULTILINE)
_UNREADABLE: Final = re.compile(r"\bUnreadableFile: (.*)")
MEND: Final = "Write it again under the same name, and start the job again: it continues here"
_REMEDY: Final = f"{MEND}; or have it skipped with source.options: {{ignoreCorruptFiles: true}}"


class SourceError(ValueError):
    """A source cannot be read as the stream's columns; says where, why and what to do."""


def unread_file(error: PySparkException | Py4JJavaError) -> SourceError | None:
    """Return an error that names the file that could not be read; `None` if there is none."""
    said = str(error)
    found = _UNREADABLE.search(said)
    if found is not None:
        return SourceError(f"{found.group(1)}. {_REMEDY}")
    file = _UNREAD.search(said)
    if file is None:
        return None
    causes = _CAUSE.findall(said)
    reason = causes[-1] if causes else failure_text(error, ()).partition(file.group(1))[2]
    message = reason.strip(" .:;") or "it cannot be read"
    return SourceError(f"{file.group(1)}: {message}. {_REMEDY}")


def first_sentence(error: PySparkException | Py4JJavaError) -> str:
    """Return the message of an error of Spark, without stack traces and plans."""
    return failure_text(error, ()).partition(": ")[2]


def condition(error: PySparkException | Py4JJavaError) -> str:
    """Return Spark's name for what is wrong, such as `PATH_NOT_FOUND`; empty if it has none."""
    found = _CONDITION.search(failure_text(error, ()))
    return found.group(1) if found else ""

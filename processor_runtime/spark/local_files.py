"""Where a task of Spark keeps files on its machine: in directories that go with the application."""

import os
import tempfile
from pathlib import Path
from typing import Final

from pyspark import TaskContext

_QUERY_ID: Final = "sql.streaming.queryId"


def local_directory() -> str:
    """Return the directory for temporary files that Spark has given to this task."""
    context = TaskContext.get()
    number = 0 if context is None else context.partitionId()
    return _directory(number) or tempfile.gettempdir()


def query_directory(number: int) -> Path | None:
    """Return where a task keeps what later batches of its query may find; `None` if nowhere.

    Args:
        number: one that the task has in each batch. It finds the directory again if the machine is
            the same, and the application.
    """
    context = TaskContext.get()
    query_id = None if context is None else context.getLocalProperty(_QUERY_ID)
    directory = _directory(number)
    return Path(directory, f"percept-{query_id}") if directory and query_id else None


def _directory(number: int) -> str:
    directories = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")
    return directories[number % len(directories)]

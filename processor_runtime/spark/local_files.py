"""Where a task of Spark keeps files on its machine: in directories that go with the application."""

import os
import tempfile

from pyspark import TaskContext


def local_directory() -> str:
    """Return the directory for temporary files that Spark has given to this task."""
    context = TaskContext.get()
    number = 0 if context is None else context.partitionId()
    directories = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")
    return directories[number % len(directories)] or tempfile.gettempdir()

"""Errors of a source, and their text."""

import re
from typing import Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from processor_runtime.spark.failure_text import failure_text

_CONDITION: Final = re.compile(r"\[([A-Z0-9_]+)")


class SourceError(ValueError):
    """A source cannot be read as the stream's columns; says where, why and what to do."""


def first_sentence(error: PySparkException | Py4JJavaError) -> str:
    """Return the message of an error of Spark, without stack traces and plans."""
    return failure_text(error, ()).partition(": ")[2]


def condition(error: PySparkException | Py4JJavaError) -> str:
    """Return Spark's name for what is wrong, such as `PATH_NOT_FOUND`; empty if it has none."""
    found = _CONDITION.search(failure_text(error, ()))
    return found.group(1) if found else ""

"""Why Spark, or a system it uses, has failed: one line, without Java stack traces and secrets."""

from collections.abc import Iterable, Mapping
from typing import Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from contract.problem_text import first_line

_LONGEST: Final = 500
_HIDDEN: Final = "***"
_SECRET_WORDS: Final = ("password", "secret", "token", "key", "jaas", "credential", "signature")


def failure_text(error: BaseException, secrets: Iterable[str]) -> str:
    """Return the type of an error and the first line of its message, with secrets masked."""
    if isinstance(error, Py4JJavaError):
        text = _java_text(error)
    elif isinstance(error, PySparkException):
        said = (error.getMessage() or str(error)).strip().partition("\n")[0]
        text = f"{type(error).__name__}: {said}"
    else:
        text = first_line(error)
    return without(text, secrets)[:_LONGEST]


def ending_text(error: BaseException) -> str:
    """Return what ended a job: one line of an error of Spark, the full text of one of Percept."""
    if isinstance(error, Py4JJavaError | PySparkException):
        return failure_text(error, ())
    return f"{type(error).__name__}: {error}"


def without(text: str, secrets: Iterable[str]) -> str:
    """Return a text with every secret replaced by three stars."""
    for secret in sorted(secrets, key=len, reverse=True):
        if secret:
            text = text.replace(secret, _HIDDEN)
    return text


def secret_options(options: Mapping[str, str]) -> frozenset[str]:
    """Return the values of options whose names say that they are secret."""
    return frozenset(
        value
        for name, value in options.items()
        if value and any(word in name.lower() for word in _SECRET_WORDS)
    )


def _java_text(error: Py4JJavaError) -> str:
    outermost = cause = error.java_exception
    while (deeper := cause.getCause()) is not None:
        cause = deeper
    told, told_last = (each.toString().strip().partition("\n")[0] for each in (outermost, cause))
    return told if told_last in told else f"{told} ({told_last})"

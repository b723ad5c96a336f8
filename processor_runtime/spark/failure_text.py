"""Why Spark, or a system it uses, has failed: the root cause in one line, without secrets.

error of Spark, of a worker, or of Percept ──failure_text, ending_text──► what an operator reads
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from traceback import extract_tb
from typing import Any, Final

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from cep.nfa.errors import error_message
from contract.problem_text import HIDDEN, first_line, masked
from processor_runtime.secret_names import secret_options

_LONGEST: Final = 500
_SHORTEST_SECRET: Final = 4
# What Spark says around the reason of a failure: which query, which task, which SQLSTATE.
_AROUND: Final = re.compile(
    r"\[STREAM_FAILED\] Query \[.*?\] terminated with exception: "
    r"|Job aborted due to stage failure: .*?most recent failure: Lost task \S+ in stage \S+ "
    r"\(TID \d+\) \(.*?\): "
    r"|\s*SQLSTATE: \w{5}"
    # The note of a worker; if a rule were to blame, it would have been reported in more detail.
    r"|(?<=\(crashed\)): [+-](?:percept-code \{[^\n]*\}|[ \t]*(?=\n|$))"
)
# The classes of Java's exceptions, one around the other: the name of the innermost is enough.
_CLASSES: Final = re.compile(r"^(?:(?:[\w$]+\.)+([\w$]+: ))+")
_FRAME: Final = re.compile(r'  File "(.+)", line (\d+), in ')
_CREDENTIALS: Final = re.compile(r"(://[^\s/@:]*:)[^\s/@]+@")


def failure_text(error: BaseException, secrets: Iterable[str]) -> str:
    """Return the type of an error and its root cause in one line, with secrets masked."""
    if isinstance(error, Py4JJavaError | PySparkException):
        text = _spark_text(error)
    else:
        text = first_line(error)
    return without(text, secrets)[:_LONGEST]


def ending_text(error: BaseException, secrets: Iterable[str]) -> str:
    """Return what ended a job: one line of an error of Spark, the full text of one of Percept.

    An unexpected error of Python is followed by the place where it was raised.
    """
    if isinstance(error, Py4JJavaError | PySparkException):
        return failure_text(error, secrets)
    if isinstance(error, OSError):
        text = first_line(error)
    else:
        said = error_message(error)
        text = f"{type(error).__name__}: {said}" if said else type(error).__name__
    if type(error).__module__ == "builtins":
        frames = extract_tb(error.__traceback__)
        text += f" ({_place(frames[-1].filename, frames[-1].lineno)})" if frames else ""
    return without(text, secrets)


def without(text: str, secrets: Iterable[str]) -> str:
    """Return a text with every secret, and every password in a URL, replaced by three stars."""
    return _CREDENTIALS.sub(rf"\1{HIDDEN}@", masked(text, secrets))


def secrets_of(document: Mapping[str, Any], environment: Mapping[str, str]) -> frozenset[str]:
    """Return the secrets of a job file: secret options, and variables named as `…_env`."""
    found = set(_secrets(document, environment))
    # A setting such as sasl.jaas.config holds the password between quotes.
    found |= {inner for value in found for inner in re.findall(r'"([^"]+)"', value)}
    return frozenset(value for value in found if len(value) >= _SHORTEST_SECRET)


def _secrets(data: Any, environment: Mapping[str, str]) -> Iterator[str]:
    if isinstance(data, list):
        for item in data:
            yield from _secrets(item, environment)
    if not isinstance(data, Mapping):
        return
    texts = {name: value for name, value in data.items() if isinstance(value, str)}
    for name, value in texts.items():
        if name.endswith("_env"):
            yield environment.get(value, "").strip()
    yield from secret_options(texts)
    for value in data.values():
        yield from _secrets(value, environment)


def _spark_text(error: Py4JJavaError | PySparkException) -> str:
    kind = type(error).__name__
    try:
        if isinstance(error, Py4JJavaError):
            return "; ".join(dict.fromkeys(map(reason_in, _java_texts(error))))
        text = (error.getMessage() or str(error)).strip().removeprefix("[None] ")
    except (Py4JError, OSError):  # Java has ended, and with it all that it could say
        return f"{kind}: Spark's Java process has ended"
    if (raised := _raised_in_python(text)) is not None:
        return raised
    return f"{kind}: {reason_in(text)}"


def _java_texts(error: Py4JJavaError) -> Iterator[str]:
    """Yield what an exception of Java says, and then what has caused it, if that says more."""
    outermost = cause = error.java_exception
    while (deeper := cause.getCause()) is not None:
        cause = deeper
    told, root = outermost.toString().strip(), cause.toString().strip()
    yield told
    if root.partition("\n")[0] not in told:
        yield root


def reason_in(text: str) -> str:
    """Return the reason in what Spark or Java says, in one line."""
    if (raised := _raised_in_python(text)) is not None:
        return raised
    said = _AROUND.sub("", text.strip()).partition("\n")[0].strip()
    return _CLASSES.sub(r"\1", said)


def _raised_in_python(text: str) -> str | None:
    """Return what a traceback of Python ends with, and where it arose; `None` if there is none."""
    lines = text.splitlines()
    places = [place for place, line in enumerate(lines) if _FRAME.match(line)]
    if not places:
        return None
    last = places[-1]
    told = next((line for line in lines[last + 1 :] if line.strip() and line[0] not in " \t"), "")
    frame = _FRAME.match(lines[last])
    if not told or frame is None:
        return None
    kind, _, said = _AROUND.sub("", told).partition(": ")
    said = f": {said.strip()}" if said else ""
    return f"{kind.rpartition('.')[2]}{said} ({_place(frame[1], frame[2])})"


def _place(path: str, line: object) -> str:
    return f"{Path(path).name}, line {line}"

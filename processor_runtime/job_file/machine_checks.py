"""Whether this machine has what `percept run` needs beside the job file: Spark, Java, telemetry.

    JobFile ──► libraries of the extras `spark` and `otel` ──► a Java that Spark runs on
    source.format ──► modules `pyspark_…` ──imported, as Spark does──► the names of their sources

Warnings only: a file may be checked on another machine than the one its job runs on.
"""

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Final

from cep.pattern import Problem
from contract.telemetry.asked import TelemetryRefused, asked_telemetry
from processor_runtime.job_file.checking import names_jars
from processor_runtime.job_file.job import JobFile
from processor_runtime.job_file.source import KNOWN_FORMATS

_PREFIX: Final = "pyspark_"
_LIBRARIES: Final = ("pyspark", "pyarrow", "pandas")
_OLDEST_JAVA: Final = 17
_VERSION: Final = re.compile(r'^JAVA_VERSION="(?:1\.)?(\d+)', re.MULTILINE)


def machine_warnings(environment: Mapping[str, str] = os.environ) -> Iterator[Problem]:
    """Yield what `percept run` would miss on this machine.

    `environment`: the environment variables; `JAVA_HOME` and `PATH` say where Java is.
    """
    if missing := [name for name in _LIBRARIES if find_spec(name) is None]:
        verb = "is" if len(missing) == 1 else "are"
        message = f"{', '.join(missing)} {verb} not installed here, and `percept run` needs Spark."
        yield Problem("spark", message, "Where the job runs: pip install 'percept[spark]'.")
    try:
        asked_telemetry(environment, "percept-job")
    except (TelemetryRefused, ModuleNotFoundError) as error:
        yield Problem("environment", f"{error}.", "`percept run` would not start with it.")
    java = _java(environment)
    if java is None:
        yield Problem(
            "spark",
            "there is no Java here, and Spark runs on it.",
            f"Where the job runs, install Java {_OLDEST_JAVA} or 21, on the PATH or by JAVA_HOME.",
        )
    elif (version := _version(java)) is not None and version < _OLDEST_JAVA:
        yield Problem(
            "spark",
            f"Java here is {version} ({java}), and Spark needs {_OLDEST_JAVA} or newer.",
            "Set JAVA_HOME to a newer one where the job runs.",
        )


def _java(environment: Mapping[str, str]) -> Path | None:
    """Return the program that Spark's launcher would start."""
    if home := environment.get("JAVA_HOME"):
        program = Path(home) / "bin" / "java"
        return program if program.is_file() else None
    found = shutil.which("java", path=environment.get("PATH"))
    return None if found is None else Path(found)


def _version(java: Path) -> int | None:
    """Return the major version of Java, as its `release` file has it; `None` if there is none."""
    release = java.resolve().parents[1] / "release"
    try:
        found = _VERSION.search(release.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return None
    return None if found is None else int(found[1])


def own_source_warnings(job: JobFile) -> Iterator[Problem]:
    """Yield what keeps Spark from finding the source of a job in Python.

    Formats of Spark itself, classes of Java and jobs that bring packages are not looked into.
    """
    for place, source in job.placed_sources:
        yield from _unfound(f"{place}.format", source.format, job)


def _unfound(place: str, wanted: str, job: JobFile) -> Iterator[Problem]:
    if wanted in KNOWN_FORMATS or "." in wanted or names_jars(job) or find_spec("pyspark") is None:
        return
    found: list[str] = []
    is_broken = False
    for module in sorted(info.name for info in iter_modules() if info.name.startswith(_PREFIX)):
        try:
            found.append(_source_name(import_module(module)))
        except Exception as error:  # noqa: BLE001 - whatever a module of others raises
            is_broken = True
            message = f"{module} cannot be imported here: {type(error).__name__}: {error}."
            remedy = "Until it can, Spark finds no source in Python: install what it needs."
            yield Problem(place, message, remedy)
    names = list(filter(None, found))
    is_found = wanted.casefold() in map(str.casefold, names)
    if is_found or is_broken or get_close_matches(wanted, KNOWN_FORMATS, n=1):
        return
    there = f"; there are: {', '.join(names)}" if names else ""
    yield Problem(
        place,
        f"no module {_PREFIX}… that can be imported here has the source '{wanted}'{there}.",
        "Install it, or put its folder on PYTHONPATH, where the job and its executors run; "
        "name source.packages if it is written in Java.",
    )


def _source_name(module: Any) -> str:
    """Return the name of the source in a module, nothing if there is none."""
    source = getattr(module, "DefaultSource", None)
    return "" if source is None else str(source.name())

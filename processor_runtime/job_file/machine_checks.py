"""Whether this machine has what `percept run` needs beside the job file: Spark, Java, telemetry.

    JobFile ──► libraries of the extras `spark` and `otel` ──► a Java that Spark runs on

Warnings only: a file may be checked on another machine than the one its job runs on.
"""

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from cep.pattern import Problem
from contract.telemetry.asked import TelemetryRefused, asked_telemetry

_LIBRARIES: Final = ("pyspark", "pyarrow", "pandas")
_OLDEST_JAVA: Final = 17
_VERSION: Final = re.compile(r'^JAVA_VERSION="(?:1\.)?(\d+)', re.MULTILINE)


def machine_warnings(environment: Mapping[str, str] = os.environ) -> Iterator[Problem]:
    """Yield what `percept run` would miss on this machine.

    Args:
        environment: the environment variables; `JAVA_HOME` and `PATH` say where Java is.
    """
    if missing := [name for name in _LIBRARIES if find_spec(name) is None]:
        verb = "is" if len(missing) == 1 else "are"
        told = f"{', '.join(missing)} {verb} not installed here, and `percept run` needs Spark."
        yield Problem("spark", told, "Where the job runs: pip install 'percept[spark]'.")
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

"""Checks that the Java that Spark needs is installed, before anything is started.

make demo ──► missing_java() ──► a sentence, or None
"""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

LEAST_JAVA: Final = 17
"""Spark 4 is compiled for this version."""

_REMEDY: Final = (
    f"Install Java {LEAST_JAVA} or newer (Debian and Ubuntu: apt install openjdk-17-jre-headless; "
    "macOS: brew install openjdk@17), or point JAVA_HOME at it."
)


def missing_java(environment: Mapping[str, str]) -> str | None:
    """Return what is wrong with Java and how to fix it; `None` if Spark can run.

    Args:
        environment: its JAVA_HOME and PATH are used, as by Spark.
    """
    java = _java(environment)
    if java is None:
        return f"The streaming job runs on Spark, which needs Java; there is none. {_REMEDY}"
    try:
        answer = subprocess.run(  # noqa: S603 - the java that Spark would start
            [java, "-version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{java} does not run: {error}. {_REMEDY}"
    version = java_version(answer.stderr + answer.stdout)
    if version is None:
        return f"{java} does not say which version it is. {_REMEDY}"
    if version < LEAST_JAVA:
        return f"Spark needs Java {LEAST_JAVA} or newer; {java} is Java {version}. {_REMEDY}"
    return None


def java_version(text: str) -> int | None:
    """Return the major version that `java -version` has printed; `None` if it has not."""
    found = re.search(r'version "(\d+)(?:\.(\d+))?', text)
    if found is None:
        return None
    # Java 8 calls itself 1.8.
    return int(found[2]) if found[1] == "1" and found[2] else int(found[1])


def _java(environment: Mapping[str, str]) -> str | None:
    home = environment.get("JAVA_HOME")
    if home:
        return str(Path(home, "bin", "java"))
    return shutil.which("java", path=environment.get("PATH", os.defpath))

"""Which garbage collector Spark's Java process has in local mode.

job file, environment, Spark's own files ──collector──► settings of `job_session`

The parallel one takes less CPU than the default (G1), and a job is there for throughput: its pauses
are short beside a batch. A JVM for which two collectors are chosen does not start, so it is chosen
only where nobody else has done so.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from pyspark.find_spark_home import _find_spark_home

_DEFAULT_OPTIONS: Final = "spark.driver.defaultJavaOptions"
_OPTIONS: Final = (_DEFAULT_OPTIONS, "spark.driver.extraJavaOptions")
_VARIABLES: Final = (
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "_JAVA_OPTIONS",
    "SPARK_SUBMIT_OPTS",
    "PYSPARK_SUBMIT_ARGS",
)
_FILES: Final = ("spark-defaults.conf", "spark-env.sh")
_CHOICE: Final = re.compile(r"-XX:[+-]Use\w+GC\b")
_OUT_OF_SIGHT: Final = re.compile(
    r"(^|[\s\"'=])@|-XX:(Flags|VMOptionsFile)=|--properties-file\b|spark\.driver\.defaultJavaOptions"
)
"""Options from files, which may choose one, and those that the setting would replace."""


def collector(settings: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return the setting that chooses the parallel collector; none if it is not to be chosen.

    Args:
        settings: of the job file.
        environment: variables of the process that starts Java.
    """
    if not settings.get("spark.master", "local").startswith("local"):
        return {}
    if "SPARK_ENV_LOADED" in environment or _DEFAULT_OPTIONS in settings:
        return {}  # Java runs already, or the setting would be replaced
    for text in _told_by(settings, environment):
        if _CHOICE.search(text) or _OUT_OF_SIGHT.search(text):
            return {}
    return {_DEFAULT_OPTIONS: "-XX:+UseParallelGC"}


def _told_by(settings: Mapping[str, str], environment: Mapping[str, str]) -> Iterator[str]:
    """Yield the texts in which a collector, or other options of Java, may be named."""
    yield from (environment.get(name, "") for name in _VARIABLES)
    yield from (settings.get(name, "") for name in _OPTIONS)
    home = environment.get("SPARK_HOME") or _find_spark_home()
    directory = Path(environment.get("SPARK_CONF_DIR") or Path(home, "conf"))
    for path in map(directory.joinpath, _FILES):
        if path.is_file():
            yield path.read_text(encoding="utf-8", errors="replace")

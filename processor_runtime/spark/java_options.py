"""The options of Spark's Java process in local mode that Percept chooses.

job file, environment, Spark's own files ──java_options──► settings of `job_session`

The parallel collector takes less CPU than the default (G1), and a job is there for throughput: its
pauses are short beside a batch. A JVM for which two collectors are chosen does not start, so it is
chosen only where nobody else has done so. Classes come from an archive if this machine has one.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from pyspark.find_spark_home import _find_spark_home

from processor_runtime.spark.class_archive import archive_options

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
_CHOOSES_COLLECTOR: Final = re.compile(r"-XX:[+-]Use\w+GC\b")
_CHOOSES_ARCHIVE: Final = re.compile(r"-Xshare:|-XX:(SharedArchiveFile|ArchiveClassesAtExit)=")
_OUT_OF_SIGHT: Final = re.compile(
    r"(^|[\s\"'=])@|-XX:(Flags|VMOptionsFile)=|--properties-file\b|spark\.driver\.defaultJavaOptions"
)
"""Options from files, which may choose one, and those that the setting would replace."""


def java_options(settings: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return the setting with the options to be chosen; nothing if there is none.

    Args:
        settings: of the job file.
        environment: variables of the process that starts Java.
    """
    if not settings.get("spark.master", "local").startswith("local"):
        return {}
    if "SPARK_ENV_LOADED" in environment or _DEFAULT_OPTIONS in settings:
        return {}  # Java runs already, or the setting would be replaced
    told = list(_told_by(settings, environment))
    if any(map(_OUT_OF_SIGHT.search, told)):
        return {}
    options = []
    if not any(map(_CHOOSES_COLLECTOR.search, told)):
        options.append("-XX:+UseParallelGC")
    if not any(map(_CHOOSES_ARCHIVE.search, told)):
        options += archive_options(environment)
    return {_DEFAULT_OPTIONS: " ".join(options)} if options else {}


def _told_by(settings: Mapping[str, str], environment: Mapping[str, str]) -> Iterator[str]:
    """Yield the texts in which a collector, or other options of Java, may be named."""
    yield from (environment.get(name, "") for name in _VARIABLES)
    yield from (settings.get(name, "") for name in _OPTIONS)
    home = environment.get("SPARK_HOME") or _find_spark_home()
    directory = Path(environment.get("SPARK_CONF_DIR") or Path(home, "conf"))
    for path in map(directory.joinpath, _FILES):
        if path.is_file():
            yield path.read_text(encoding="utf-8", errors="replace")

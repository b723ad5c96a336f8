"""The options of Spark's Java process in local mode that Percept chooses.

job file, environment, Spark's own files ──java_options──► settings of `job_session`

The parallel collector takes less CPU than the default (G1), and a job is there for throughput: its
pauses are short beside a batch. A JVM for which two collectors are chosen does not start, so it is
chosen only where nobody else has done so. From version 19 on Java keeps an archive of the classes
that Spark loads, which saves two fifths of the CPU of a start. Where rows are in Python workers
only, Java plans, and moves blocks of bytes: its second compiler, a quarter of the CPU of a start
and a sixth of that of the first twenty batches, makes nothing faster and is left out.

Source: JDK-8261455, automatic generation of the CDS archive.
"""

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Final

import pyspark
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
_HADOOP_CONF: Final = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")
_CHOOSES_COLLECTOR: Final = re.compile(r"-XX:[+-]Use\w+GC\b")
_CHOOSES_COMPILER: Final = re.compile(
    r"-XX:Tier|-XX:[+-]TieredCompilation\b|-Xint\b|-Xcomp\b|-XX:ReservedCodeCacheSize="
)
_CHOOSES_ARCHIVE: Final = re.compile(
    r"-Xshare:|-XX:(SharedArchiveFile|ArchiveClassesAtExit)=|-XX:[+-]AutoCreateSharedArchive"
)
_FIRST_COMPILER: Final = ("-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m")
"""With one compiler Java would have a fifth of the usual room for code."""
_JAVA_WITH_ARCHIVES: Final = 19
_JAVA_VERSION: Final = re.compile(r'^JAVA_VERSION="(\d+)', re.MULTILINE)
_NEEDS_QUOTES: Final = re.compile(r"[\s\"'\\]")
"""Spark splits options at blanks and takes quotes for its own."""
_OUT_OF_SIGHT: Final = re.compile(
    r"(^|[\s\"'=])@|-XX:(Flags|VMOptionsFile)=|--properties-file\b|spark\.driver\.defaultJavaOptions"
)
"""Options from files, which may choose one, and those that the setting would replace."""


def java_options(
    settings: Mapping[str, str], environment: Mapping[str, str], *, has_rows: bool
) -> dict[str, str]:
    """Return the setting with the options to be chosen; nothing if there is none.

    `environment`: variables of the process that starts Java. `has_rows`: whether Java reads events
    or writes rows of the job one by one.
    """
    if not settings.get("spark.master", "local").startswith("local"):
        return {}
    if "SPARK_ENV_LOADED" in environment or _DEFAULT_OPTIONS in settings:
        return {}  # Java runs already, or the setting would be replaced
    told = list(_option_texts(settings, environment))
    if any(map(_OUT_OF_SIGHT.search, told)):
        return {}
    options: list[str] = []
    if not has_rows and not any(map(_CHOOSES_COMPILER.search, told)):
        options += _FIRST_COMPILER
    if not any(map(_CHOOSES_COLLECTOR.search, told)):
        options.append("-XX:+UseParallelGC")
    if not any(map(_CHOOSES_ARCHIVE.search, told)) and not _has_settings(environment):
        options += _archive_options(environment)
    return {_DEFAULT_OPTIONS: " ".join(options)} if options else {}


def _option_texts(settings: Mapping[str, str], environment: Mapping[str, str]) -> Iterator[str]:
    """Yield the texts in which a collector, or other options of Java, may be named."""
    yield from (environment.get(name, "") for name in _VARIABLES)
    yield from (settings.get(name, "") for name in _OPTIONS)
    for path in map(_spark_conf(environment).joinpath, _FILES):
        if path.is_file():
            yield path.read_text(encoding="utf-8", errors="replace")


def _archive_options(environment: Mapping[str, str]) -> list[str]:
    """Return the options with which Java keeps an archive of classes; none if it cannot.

    It reads the one of this Java and this Spark, and makes it anew at its end if it does not fit.
    """
    home = _java_home(environment)
    with suppress(OSError, RuntimeError):
        version = None if home is None else _JAVA_VERSION.search((home / "release").read_text())
        if version is None or int(version[1]) < _JAVA_WITH_ARCHIVES:
            return []
        which = blake2b(f"{home}\n{_spark_home(environment)}".encode(), digest_size=8).hexdigest()
        cache = environment.get("XDG_CACHE_HOME")
        directory = (Path(cache) if cache else Path.home() / ".cache").absolute() / "percept"
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        archive = directory / f"spark-{pyspark.__version__}-{which}.jsa"
        if _NEEDS_QUOTES.search(str(archive)) is None:
            # What cannot be archived is no news to those who run jobs.
            return [
                "-XX:+AutoCreateSharedArchive",
                f"-XX:SharedArchiveFile={archive}",
                "-Xlog:cds*=off",
            ]
    return []


def _has_settings(environment: Mapping[str, str]) -> bool:
    """Return whether directories of settings are on the class path, which no archive can be of."""
    of_hadoop = (Path(environment[name]) for name in _HADOOP_CONF if environment.get(name))
    directories = (_spark_conf(environment), *of_hadoop)
    return any(any(path.iterdir()) for path in directories if path.is_dir())


def _java_home(environment: Mapping[str, str]) -> Path | None:
    """Return where the Java is that Spark's scripts start."""
    if home := environment.get("JAVA_HOME"):
        return Path(home).resolve()
    program = shutil.which("java", path=environment.get("PATH", os.defpath))
    return None if program is None else Path(program).resolve().parents[1]


def _spark_conf(environment: Mapping[str, str]) -> Path:
    return Path(environment.get("SPARK_CONF_DIR") or Path(_spark_home(environment), "conf"))


def _spark_home(environment: Mapping[str, str]) -> str:
    return environment.get("SPARK_HOME") or _find_spark_home()

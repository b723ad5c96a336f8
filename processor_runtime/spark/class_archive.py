"""Where Spark's classes are kept as the JVM has them in memory, so that a start need not load them.

`percept job prepare` ──archive_options──► a small job ──at its end──► archive ──► every job's start

Source: Java, "Class Data Sharing", dynamic archives (JEP 350): read by the same Java with the same
class path only; others pass over it.
"""

import os
import re
import shutil
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Final

import pyspark
from pyspark.find_spark_home import _find_spark_home

_DIGEST_BYTES: Final = 8
_NEEDS_QUOTES: Final = re.compile(r"[\s\"'\\]")


def archive_path(environment: Mapping[str, str]) -> Path | None:
    """Return where the archive of this Java and this Spark is, or would be.

    Args:
        environment: variables of the process that starts Java.

    Returns:
        `None` where there is no Java or no place to keep things.
    """
    java = _java(environment)
    if java is None:
        return None
    home = environment.get("SPARK_HOME") or _find_spark_home()
    which = f"{java}\n{java.stat().st_mtime_ns}\n{home}\n{pyspark.__version__}"
    digest = blake2b(which.encode(), digest_size=_DIGEST_BYTES).hexdigest()
    named = environment.get("XDG_CACHE_HOME")
    try:
        base = Path(named) if named else Path.home() / ".cache"
    except RuntimeError:
        return None
    return base.absolute() / "percept" / f"spark-{pyspark.__version__}-{digest}.jsa"


def archive_options(environment: Mapping[str, str]) -> list[str]:
    """Return the options with which Java reads the archive of this machine; none without one.

    Args:
        environment: variables of the process that starts Java.
    """
    archive = archive_path(environment)
    # Spark splits options at blanks and takes quotes for its own.
    if archive is None or not archive.is_file() or _NEEDS_QUOTES.search(str(archive)):
        return []
    # Java passes over an archive that it cannot use, and need not complain of it.
    return [f"-XX:SharedArchiveFile={archive}", "-Xlog:cds=off", "-Xlog:cds+dynamic=off"]


def _java(environment: Mapping[str, str]) -> Path | None:
    """Return the program that Spark's scripts start."""
    home = environment.get("JAVA_HOME")
    found = (
        str(Path(home, "bin", "java")) if home else shutil.which("java", path=_path(environment))
    )
    return Path(found).resolve() if found and Path(found).is_file() else None


def _path(environment: Mapping[str, str]) -> str:
    return environment.get("PATH", os.defpath)

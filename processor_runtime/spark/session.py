"""The Spark session of a job: what Percept needs set, and what the job file sets on top."""

import os
import sys
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from warnings import catch_warnings, simplefilter

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

_PACKAGES: Final = ("percept", "cep", "contract", "discoverers", "processor_runtime")
_ROOT: Final = Path(__file__).resolve().parents[2]
_SETTINGS: Final[Mapping[str, str]] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    # Only what a batch has changed is written for it, not the whole state.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.executorEnv.POLARS_MAX_THREADS": "1",  # a worker has one core
    "spark.ui.showConsoleProgress": "false",
}


def job_session(name: str, settings: Mapping[str, str]) -> SparkSession:
    """Return the session of a job.

    Args:
        name: what the application is called.
        settings: of the job file; they go before those of Percept, and before what spark-submit
            has set. Without a master, Spark runs in this process on all cores.
    """
    # Workers are started as the environment says; the setting alone would be passed over.
    if chosen := settings.get("spark.pyspark.python"):
        os.environ["PYSPARK_PYTHON"] = chosen
    python = os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if not settings.get("spark.master", "local").startswith("local"):
        # The worker that Spark starts beside the driver is sent no packages, and its Python, that
        # of the executors, need not have them.
        os.environ["PYTHONPATH"] = os.pathsep.join(
            [str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        )
    builder = SparkSession.builder.appName(name)
    for key, value in {**_SETTINGS, "spark.pyspark.python": python, **settings}.items():
        builder = builder.config(key, value)
    if "spark.master" not in settings and "SPARK_ENV_LOADED" not in os.environ:
        builder = builder.master("local[*]")
        builder = builder.config("spark.ui.enabled", settings.get("spark.ui.enabled", "false"))
    return builder.getOrCreate()


def has_ended(spark: SparkSession) -> bool:
    """Return whether Spark has been stopped, or its process is gone."""
    try:
        context: Any = spark.sparkContext._jsc  # noqa: SLF001 - the one in Python does not notice
        return bool(context.sc().isStopped())
    except (AttributeError, OSError, Py4JError):
        return True


def end_session(spark: SparkSession) -> None:
    """Stop Spark, if it has not ended already."""
    with suppress(OSError, Py4JError), catch_warnings():
        # That its process is gone is no news then.
        simplefilter("ignore", RuntimeWarning)
        spark.stop()


def ship_packages(spark: SparkSession, directory: Path) -> None:
    """Send Percept's own packages to the executors; what they depend on must be installed there.

    Args:
        spark: the session.
        directory: where to write the archive.
    """
    if str(spark.sparkContext.master).startswith("local"):
        return
    spark.sparkContext.addPyFile(str(package_archive(directory)))


def package_archive(directory: Path) -> Path:
    """Write Percept's packages, as far as workers import them, into an archive and return it.

    Args:
        directory: where to write it.
    """
    archive = directory / "percept-packages.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
        for package in _PACKAGES:
            for path in sorted((_ROOT / package).rglob("*.py")):
                target.write(path, path.relative_to(_ROOT))
    return archive

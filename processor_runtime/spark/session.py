"""The Spark session of a job: what Percept needs set, and what the job file sets on top."""

import logging
import os
import signal
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from warnings import catch_warnings, simplefilter

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from processor_runtime.secret_names import SENSITIVE_NAME
from processor_runtime.spark.checkpoint_files import LOCAL_FILES
from processor_runtime.spark.java_options import java_options

_log = logging.getLogger("percept.job")
_PACKAGES: Final = ("percept", "cep", "contract", "discoverers", "processor_runtime")
_LAST_MOMENT_SECONDS: Final = 5.0
_KILLED_BY_SHELL: Final = 128
_ROOT: Final = Path(__file__).resolve().parents[2]
_SETTINGS: Final[Mapping[str, str]] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    # Only what a batch has changed is written for it, not the whole state.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Not Hive's, whose rename does not replace a file; see `checkpoint_writer`.
    "spark.hadoop.fs.file.impl": LOCAL_FILES,
    # A batch matches all that it has read; another one without events would find nothing more.
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    # Events go from stage to stage as blocks that are compressed already.
    "spark.shuffle.compress": "false",
    # Rows of output are kept until all outputs have them, for which they need not be compressed.
    "spark.sql.inMemoryColumnarStorage.compressed": "false",
    # Java's serializer remembers what goes from memory to disk until so many objects have: of parts
    # of a batch's rows, some megabytes each, a hundred were more than the heap.
    "spark.serializer.objectStreamReset": "4",
    "spark.executorEnv.POLARS_MAX_THREADS": "1",  # a worker has one core
    # The columns of a batch are some hundred megabytes. Workers have them in huge pages, and keep
    # what is free for the next batch, where fresh pages each time took a third of their CPU: glibc
    # (NumPy, numba, Python) up to 512 MB, Polars' jemalloc for a minute. Arrow's own allocator can
    # do neither.
    "spark.executorEnv.GLIBC_TUNABLES": (
        "glibc.malloc.hugetlb=1:glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=536870912"
    ),
    "spark.executorEnv.POLARS_THP": "1",
    "spark.executorEnv._RJEM_MALLOC_CONF": "dirty_decay_ms:60000,muzzy_decay_ms:1000",
    "spark.executorEnv.ARROW_DEFAULT_MEMORY_POOL": "system",
    # Of a worker that has died Spark then tells what is in its file; see `watch.note`.
    "spark.python.worker.faulthandler.enabled": "true",
    # A worker reaches the state of its task through a file, not through a port of this machine,
    # which accepts any connection: another process, or a client whose server had that port.
    "spark.python.unix.domain.socket.enabled": "true",
    # Spark sets a variable by it for the workers of one stage and not for those of the other: with
    # it each stage would have workers of its own, with the code of all rules in each.
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Plans, which are in logs and errors, name all options. Spark's own words for secrets lack
    # that of a schema registry, among others; addresses may have a password in them.
    "spark.redaction.regex": SENSITIVE_NAME,
    "spark.sql.redaction.options.regex": f"{SENSITIVE_NAME}|url",
    # Spark keeps what it tells about the past in memory, whether or not its pages are served, and
    # a job runs some jobs of Spark with every batch for months.
    "spark.ui.retainedJobs": "100",
    "spark.ui.retainedStages": "100",
    "spark.ui.retainedTasks": "1000",
    "spark.ui.dagGraph.retainedRootRDDs": "100",
    "spark.sql.ui.retainedExecutions": "50",
    "spark.sql.streaming.numRecentProgressUpdates": "10",  # the job itself reads the last
}


def job_session(
    name: str, settings: Mapping[str, str], *, java_has_rows: bool = True
) -> SparkSession:
    """Return the session of a job.

    Args:
        name: what the application is called.
        settings: of the job file; they go before those of Percept, and before what spark-submit
            has set. Without a master, Spark runs in this process on all cores.
        java_has_rows: whether Java reads events or writes rows of the job one by one.
    """
    # Workers are started as the environment says; the setting alone would be ignored.
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
    of_java = java_options(settings, os.environ, has_rows=java_has_rows)
    defaults = {**_SETTINGS, **of_java, "spark.pyspark.python": python}
    for key, value in {**defaults, **settings}.items():
        builder = builder.config(key, value)
    if "spark.master" not in settings and "SPARK_ENV_LOADED" not in os.environ:
        builder = builder.master("local[*]")
        builder = builder.config("spark.ui.enabled", settings.get("spark.ui.enabled", "false"))
    spark = builder.getOrCreate()
    _quieten_counters(spark)
    return spark


def use_this_python(spark: SparkSession) -> None:
    """Let the workers of a local session run this interpreter, unless another one was chosen.

    Spark starts the `python3` of the PATH. In a virtual environment that is not activated this is
    another one, which has no Percept.
    """
    context: Any = getattr(spark, "sparkContext", None)  # Spark Connect has none
    if context is None or "PYSPARK_PYTHON" in os.environ:
        return
    if context.master.startswith("local"):
        context.pythonExec = sys.executable


def _quieten_counters(spark: SparkSession) -> None:
    """Let the server that counts for Spark end silently with it, not with a traceback."""
    server: Any = getattr(spark.sparkContext, "_accumulatorServer", None)
    if server is not None:
        server.handle_error = lambda _request, _client: _log.debug("", exc_info=True)


def has_ended(spark: SparkSession) -> bool:
    """Return whether Spark has been stopped, or its process is gone."""
    try:
        context: Any = spark.sparkContext._jsc  # noqa: SLF001 - the one in Python does not notice
        return bool(context.sc().isStopped())
    except (AttributeError, OSError, Py4JError):
        return True


def process_ending(spark: SparkSession) -> str | None:
    """Return how Spark's Java process has ended by itself, in words; `None` if it has not.

    A caller that has just lost the connection to it need not wait for more than a moment.
    """
    process: Any = getattr(spark.sparkContext._gateway, "proc", None)  # noqa: SLF001 - nowhere else
    if process is None:  # started by spark-submit, not by this process
        return "has ended" if has_ended(spark) else None
    try:
        code: int = process.wait(_LAST_MOMENT_SECONDS if has_ended(spark) else 0)
    except subprocess.TimeoutExpired:
        return None
    number = -code if code < 0 else code - _KILLED_BY_SHELL
    if number == signal.SIGKILL:
        return "was killed (SIGKILL), as a machine does that runs out of memory"
    if number in set(signal.Signals):
        return f"was ended by {signal.Signals(number).name}"
    return f"has ended with exit code {code}"


def end_session(spark: SparkSession) -> None:
    """Stop Spark, if it has not ended already."""
    with suppress(OSError, Py4JError), catch_warnings():
        # That its process is gone is no news then.
        simplefilter("ignore", RuntimeWarning)
        spark.stop()


def ship_packages(spark: SparkSession, directory: Path) -> None:
    """Send Percept's own packages to the executors; what they depend on must be installed there."""
    if str(spark.sparkContext.master).startswith("local"):
        return
    spark.sparkContext.addPyFile(str(package_archive(directory)))


def package_archive(directory: Path) -> Path:
    """Write Percept's packages, as far as workers import them, into an archive and return it."""
    archive = directory / "percept-packages.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
        for package in _PACKAGES:
            for path in sorted((_ROOT / package).rglob("*.py")):
                target.write(path, path.relative_to(_ROOT))
    return archive

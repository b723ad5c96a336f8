"""One local Spark session for all tests that need one."""

import os
import shutil
import sys
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from processor_runtime.spark.checkpoint_files import LOCAL_FILES

STATE_STORE = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

QUICKLY_COMPILED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Tests are over before what a better compiler or a second collector thread costs is paid back."""


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Return a session on this machine; the test is skipped where there is no Java."""
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java 17 or newer, and there is no `java` on the PATH")
    # The worker that Spark starts beside the driver asks the environment, not the setting.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # A machine may be very busy; Spark's workers wait for 15 seconds to reach it.
    os.environ.setdefault("SPARK_AUTH_SOCKET_TIMEOUT", "300")
    session = (
        SparkSession.builder.master("local[2]")
        .appName("percept-tests")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.default.parallelism", "2")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.extraJavaOptions", QUICKLY_COMPILED)
        .config("spark.pyspark.python", sys.executable)
        .config("spark.python.worker.faulthandler.enabled", "true")
        .config("spark.python.unix.domain.socket.enabled", "true")
        .config("spark.hadoop.fs.file.impl", LOCAL_FILES)  # as a job has it
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.streaming.stateStore.providerClass", STATE_STORE)
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()

"""The last line of a failed job: the root of it, in one line, without secrets."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from contract.problem_text import masked
from processor_runtime.job_file.problems import JobFileError
from processor_runtime.spark.failure_text import ending_text, failure_text, secrets_of, without

# As Spark 4.3 tells them, shortened.
WORKER = """\
An exception was thrown from the Python worker: Traceback (most recent call last):
  File "/app/processor_runtime/spark/plan/stages.py", line 72, in __call__
    for events in frames(batches):
                  ^^^^^^^^^^^^^^^
  File "/app/processor_runtime/stages/key_stage.py", line 116, in _usable
    self.rows += map(self._bad_row, bad.to_dicts())
OverflowError: date value out of range
second line
 SQLSTATE: 38000"""
LOG_FILE = "Failed to read log file file:/checkpoint/offsets/0. [MALFORMED_LOG_FILE] rubbish."
QUERY = (
    "[STREAM_FAILED] Query [id = 104b6dc3-b44c, runId = 8099b931-d038] terminated with exception: "
    f"{LOG_FILE} SQLSTATE: KD002 SQLSTATE: XXKST\n=== Streaming Query ==="
)
ABORTED = (
    "org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 2.0 failed "
    "1 times, most recent failure: Lost task 0.0 in stage 2.0 (TID 2) (192.0.2.2 executor driver): "
    "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed).\n"
    "\tat org.apache.spark.api.python.BasePythonRunner.applyOrElse(PythonRunner.scala:1136)"
)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (WORKER, "OverflowError: date value out of range (key_stage.py, line 116)"),
        (QUERY, f"PySparkException: {LOG_FILE}"),
        (
            ABORTED,
            "PySparkException: SparkException: Python worker exited unexpectedly (crashed).",
        ),
        (
            ABORTED.replace("(crashed).", '(crashed): -percept-code {"what": "its error"}\n  x'),
            "PySparkException: SparkException: Python worker exited unexpectedly (crashed)",
        ),
        (
            ABORTED.replace("(crashed).", f"(crashed): -{' ' * 100}"),
            "PySparkException: SparkException: Python worker exited unexpectedly (crashed)",
        ),
        ("[PATH_NOT_FOUND] no such path", "PySparkException: [PATH_NOT_FOUND] no such path"),
    ],
    ids=["worker", "query", "aborted", "noted", "not-noted", "plain"],
)
def test_the_root_of_a_failure_is_told_in_one_line(said: str, told: str) -> None:
    assert ending_text(PySparkException(said), ()) == told


def test_a_failure_that_nobody_has_foreseen_says_where_it_arose() -> None:
    place = Path(__file__).name
    try:
        _ = dict[str, str]()["rules"]
    except KeyError as error:
        told = ending_text(error, ())
    assert told.startswith(f"KeyError: 'rules' ({place}, line ")
    refused = JobFileError(Path("job.yaml"), [])
    assert place not in ending_text(refused, ())


def test_an_error_of_the_system_is_words_that_say_which_file_and_what_to_do() -> None:
    error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/out/1.json")
    told = "/out/1.json: No space left on device. Make room"
    assert ending_text(error, ()) == failure_text(error, ()) == told


@pytest.mark.parametrize("secrets", [["key-1", "key-1-of-all"], ["key-1-of-all", "key-1", ""]])
def test_nothing_is_left_of_a_secret_that_holds_another(secrets: list[str]) -> None:
    assert masked("it has key-1-of-all, key-1", secrets) == "it has ***, ***"


def test_secrets_are_made_out() -> None:
    job: dict[str, Any] = {
        "source": {
            "options": {
                "kafka.sasl.jaas.config": 'login required username="u1" password="hush-hush";',
                "subscribe": "payments",
            }
        },
        "outputs": [{"token_env": "TOKEN", "headers": {"X-Api-Key": "k-12345"}}],
        "signing_keys_file": "/etc/keys",
    }
    secrets = secrets_of(job, {"TOKEN": "t-67890\n", "OTHER": "payments"})
    said = "hush-hush, t-67890, k-12345 at jdbc:postgresql://u1:pass@db/x of payments in /etc/keys"
    expected = "***, ***, *** at jdbc:postgresql://u1:***@db/x of payments in /etc/keys"
    assert without(said, secrets) == expected
    assert ending_text(ValueError(said), secrets) == f"ValueError: {expected}"
    assert failure_text(PySparkException(said), secrets).endswith(expected)


@pytest.mark.spark
def test_what_a_worker_raises_is_told_and_where(spark: SparkSession) -> None:
    def fail(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            yield {}[next(batches)]
        except TypeError as error:
            raise OverflowError("date value out of range\nand more\n") from error

    with pytest.raises(PySparkException) as raised:
        spark.range(0, 1, 1, 1).mapInArrow(fail, "o STRING").collect()
    told = ending_text(raised.value, ())
    assert told.startswith(f"OverflowError: date value out of range ({Path(__file__).name}, line ")


@pytest.mark.spark
def test_what_java_raises_is_told_with_its_cause(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "0.parquet").write_bytes(b"no parquet at all")
    with pytest.raises(Exception) as raised:  # noqa: PT011 - Py4J's or PySpark's
        spark.read.schema("a STRING").parquet(str(tmp_path)).collect()
    told = ending_text(raised.value, ())
    assert "[FAILED_READ_FILE" in told
    assert "0.parquet" in told
    assert "is not a Parquet file" in told
    assert "\n" not in told

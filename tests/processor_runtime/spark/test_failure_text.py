"""Why a job has failed: its root in one line, without secrets, from a log of Java, or a death."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import SparkSession

from contract.problem_text import masked
from processor_runtime.job_file.problems import JobFileError
from processor_runtime.spark.failure_text import ending_text, failure_text, secrets_of, without
from processor_runtime.spark.java_output import LogRefused, java_output_to, with_java_output
from processor_runtime.spark.worker_deaths import began_late, death_in
from processor_runtime.stages.rule_errors import RuleFailed
from processor_runtime.watch.note import Death, RuleCode, empty_page, page_text, reason_text

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
        (ABORTED, "PySparkException: SparkException: Python worker exited unexpectedly (crashed)."),
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


BROKEN = "EOFError (serializers.py, line 604)"
DEATH = """\
26/11/23 06:55:52 WARN BlockManager: putting it failed
Exception in thread "stateConnectionListenerThread" org.apache.hadoop.fs.FSError: a.b.C: full
\tat org.apache.hadoop.fs.RawLocalFileSystem.write(RawLocalFileSystem.java:549)
Caused by: java.io.IOException: No space left on device
\tat java.base/java.io.FileOutputStream.writeBytes(Native Method)
\t... 36 more
26/11/23 06:55:53 ERROR Executor: Exception in task 1.0 in stage 4.0 (TID 6)
org.apache.spark.api.python.PythonException: [PYTHON_EXCEPTION] EOFError
Caused by: java.io.EOFException
"""


def test_the_thread_that_died_says_why_a_connection_broke_off(tmp_path: Path) -> None:
    log = tmp_path / "spark.log"
    log.write_text(f'Exception in thread "before" a.B: of another run\n{DEATH}')
    told = with_java_output(BROKEN, log, since=0)
    assert told.endswith(f": IOException: No space left on device. See {log}")


@pytest.mark.parametrize("is_there", [True, False])
def test_without_a_death_the_log_is_named(tmp_path: Path, *, is_there: bool) -> None:
    log = tmp_path / "spark.log"
    if is_there:
        log.write_text(DEATH)
    told = with_java_output(BROKEN, log, since=len(DEATH))
    assert told.endswith(f": see {log}")


def test_any_other_reason_stays_as_it_is(tmp_path: Path) -> None:
    log = tmp_path / "spark.log"
    log.write_text(DEATH)
    for reason in ("ValueError: x (stages.py, line 1)", "EOFError (rules.py, line 604)"):
        assert with_java_output(reason, log, since=0) == reason


CODE = RuleCode("p", 3, "abc", "the condition f")
PAGE = empty_page().decode()
AT_WORK = f"+{page_text(CODE).decode()}of a longer note\n"
TRACE = '\nTimeout (0:00:32)!\nThread 0x0 (most recent call first):\n  File "x.py", line 3 in f\n'


def crashed(text: str) -> str:
    return (
        "Job aborted due to stage failure: Lost task 0.0 in stage 2.0 (TID 2): "
        f"org.apache.spark.SparkException: Python worker exited unexpectedly (crashed): {text}\n"
        "\tat org.apache.spark.api.python.BasePythonRunner.applyOrElse(PythonRunner.scala:1143)"
    )


@pytest.mark.parametrize(
    ("said", "death"),
    [
        (crashed(PAGE), Death()),
        (crashed(AT_WORK), Death(CODE)),
        (crashed(AT_WORK.replace("+", "-", 1)), Death()),
        (crashed(AT_WORK + reason_text('it was "full"')), Death(CODE, 'it was "full"')),
        (crashed(AT_WORK + TRACE), Death(CODE, "it did not return within 30 seconds")),
        ("Python worker exited unexpectedly (crashed). Consider setting 'spark…", Death()),
        ("ExecutorLostFailure (executor 1 exited caused by one of the running tasks)", Death()),
        ('An exception was thrown: Traceback\n  File "x.py", line 2, in f\nMemoryError', Death()),
        ("ValueError: MemoryErrors are no news", None),
        ("[PATH_NOT_FOUND] no such path", None),
    ],
)
def test_the_death_of_a_worker_is_read(said: str, death: Death | None) -> None:
    assert death_in(said, 30.0) == death


def test_only_spark_says_that_a_worker_began_late() -> None:
    said = "Python worker failed to connect back."
    assert began_late(StreamingQueryException(said))
    assert not began_late(StreamingQueryException("Python worker exited unexpectedly"))
    assert not began_late(RuleFailed(said))


def test_a_log_that_cannot_be_written_is_named_with_the_remedy(tmp_path: Path) -> None:
    told = f"{tmp_path} cannot be written: Is a directory. Name a file in it"
    with pytest.raises(LogRefused) as refused, java_output_to(tmp_path):
        pass
    assert str(refused.value) == told

"""`percept run`: a job from its file until it ends, with its lines on the terminal.

job file ──► session ──► StreamingJob ──► lines · exit code
"""

import logging
import os
import signal
import tempfile
import threading
import time
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.logging import RichHandler

from contract.problem_text import first_line
from contract.telemetry.asked import AskedTelemetry, TelemetryRefused, asked_telemetry
from contract.telemetry.opening import opened
from processor_runtime.batch_lines import BatchLines
from processor_runtime.job_file.job import JobFile
from processor_runtime.job_file.kafka_checks import missing_library
from processor_runtime.job_file.loading import load_job_file
from processor_runtime.job_file.problems import JobFileError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from processor_runtime.spark.job import StreamingJob
    from processor_runtime.spark.micro_batches import BatchDone
    from processor_runtime.telemetry.job_telemetry import JobTelemetry


_log = logging.getLogger("percept.job")
_LAST_LINES: Final = 8


def run_job(path: Path, spark_log: Path | None, console: Console) -> int:
    """Run a job until it ends; return the exit code.

    `spark_log`: where Spark's own log goes; a file in the directory for temporary files if left
    out.

    Raises:
        ModuleNotFoundError: the environment asks for telemetry, and the extra `otel` is missing.
    """
    try:
        asked = asked_telemetry(os.environ, "percept-job")
        job_file = load_job_file(path, os.environ)
    except (TelemetryRefused, JobFileError) as error:
        console.print(str(error), style="red", markup=False, highlight=False)
        return 2
    if (missing := missing_library(job_file)) is not None:
        console.print(str(missing), style="red", markup=False, highlight=False, soft_wrap=True)
        return 2
    handler = RichHandler(console=console, show_path=False, show_time=False)
    # Py4J logs a traceback of every batch that ends early; the reason is printed at the end.
    handler.addFilter(lambda record: Path(record.pathname).parent.name != "py4j")
    logging.basicConfig(level=logging.INFO, format="%(message)s", handlers=[handler])
    for name in ("httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.WARNING)
    log = spark_log or usual_log(job_file)
    console.print(
        f"job {job_file.name} on stream {job_file.stream} · checkpoint {job_file.checkpoint} · "
        f"Spark's log {log}",
        style="bold",
        markup=False,
        highlight=False,
    )
    try:
        telemetry = _telemetry(asked, job_file)
    except TelemetryRefused as error:
        console.print(str(error), style="red", markup=False, highlight=False, soft_wrap=True)
        return 2
    try:
        return _run(job_file, log, console, telemetry)
    finally:
        if telemetry is not None:
            telemetry.close()


def _telemetry(asked: AskedTelemetry | None, job_file: JobFile) -> "JobTelemetry | None":
    if (sending := opened(asked, os.environ)) is None:
        return None
    from processor_runtime.telemetry.job_telemetry import JobTelemetry  # noqa: PLC0415 - of `otel`

    return JobTelemetry(sending, job_file.stream, job_file.name)


def _run(job_file: JobFile, log: Path, console: Console, telemetry: "JobTelemetry | None") -> int:
    # Spark takes a second to load, which would slow down other commands.
    from processor_runtime.spark.failure_text import (  # noqa: PLC0415
        ending_text,
        secrets_of,
        without,
    )
    from processor_runtime.spark.java_output import with_java_output  # noqa: PLC0415
    from processor_runtime.spark.job import StreamingJob  # noqa: PLC0415
    from processor_runtime.spark.session import (  # noqa: PLC0415
        end_session,
        has_ended,
        process_ending,
    )

    secrets = secrets_of(job_file.model_dump(mode="json"), os.environ)
    log_bytes = log.stat().st_size if log.exists() else 0
    if (spark := start_spark(job_file, log, console)) is None:
        return 1
    spark.sparkContext.setLogLevel("WARN")
    lines = BatchLines()
    job = StreamingJob(spark, job_file, os.environ, _on_batch(console, telemetry, lines))
    if telemetry is not None:
        job.on_failure = telemetry.failed
    with _signals_stopping(job, console):
        try:
            job.run()
        except Exception as error:
            if job.is_stopping and has_ended(spark):
                console.print("Spark was stopped, too; the current batch will be run again")
            else:
                logging.getLogger("percept.job").debug("the job has failed", exc_info=True)
                told = with_java_output(ending_text(error, secrets), log, since=log_bytes)
                reason = without(told, secrets)
                if (ending := process_ending(spark)) is not None:
                    reason = (
                        f"Spark's Java process {ending}; the batch under way will be run again. "
                        f"See {log}"
                    )
                console.print(
                    f"the job has ended: {reason}",
                    style="red",
                    markup=False,
                    highlight=False,
                    soft_wrap=True,
                )
                return 1
        finally:
            end_session(spark)
    for line in lines.end():
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    console.print("the job has ended", style="bold")
    return 0


def usual_log(job_file: JobFile) -> Path:
    """Return where Spark's log goes if nobody says."""
    return Path(tempfile.gettempdir(), f"percept-{job_file.stream}-{job_file.name}.log")


def start_spark(job_file: JobFile, log: Path, console: Console) -> "SparkSession | None":
    """Return the session of a job; `None`, and why on the console, if it does not start."""
    from pyspark.errors import PySparkException  # noqa: PLC0415

    from processor_runtime.spark.failure_text import ending_text, secrets_of  # noqa: PLC0415
    from processor_runtime.spark.java_output import LogRefused, java_output_to  # noqa: PLC0415
    from processor_runtime.spark.session import job_session  # noqa: PLC0415

    try:
        with java_output_to(log):
            name, settings = f"percept {job_file.name}", job_file.spark_settings
            return job_session(name, settings, java_has_rows=not job_file.has_rows_in_workers_only)
    except LogRefused as refused:
        message = f"Spark's log {refused}, with --spark-log"
        console.print(message, style="red", markup=False, highlight=False, soft_wrap=True)
        return None
    except PySparkException as error:
        secrets = secrets_of(job_file.model_dump(mode="json"), os.environ)
        console.print(
            f"Spark has not started: {ending_text(error, secrets)}\n"
            "It needs Java 17 or newer, by JAVA_HOME or on the PATH, and the network once for what "
            f"the job file names under packages. Its last output was:\n{_end_of(log)}",
            style="red",
            markup=False,
            highlight=False,
        )
        return None


def _end_of(log: Path) -> str:
    """Return the last lines of a log, without the stack traces of Java."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    said = [line for line in lines if line.strip() and not line.lstrip().startswith("at ")]
    return "\n".join(said[-_LAST_LINES:])


def _on_batch(console: Console, telemetry: "JobTelemetry | None", lines: BatchLines) -> Any:
    def show(done: "BatchDone") -> None:
        if telemetry is not None:
            telemetry.done(done.times, done.status)
        for line in lines.lines(done.status, done.before, done.now, time.monotonic()):
            console.print(line, markup=False, highlight=False, soft_wrap=True)

    return show


class _signals_stopping:  # noqa: N801 - used like a function
    """While inside, SIGINT and SIGTERM stop the job; a second one ends the process immediately."""

    def __init__(self, job: "StreamingJob", console: Console) -> None:
        self._job = job
        self._console = console
        self._before: dict[signal.Signals, Any] = {}
        self._stopper: threading.Thread | None = None

    def __enter__(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._stop)

    def __exit__(self, *_exc: object) -> None:
        if self._stopper is not None:
            self._stopper.join()
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _stop(self, number: int, _frame: FrameType | None) -> None:
        if self._stopper is not None:
            self._console.print("stopped; the current batch will be run again", style="bold")
            # An exception could be raised in the middle of a call to Spark, which ends with this
            # process.
            os._exit(128 + number)
        self._console.print("stopping after this batch; once more to stop at once", style="bold")
        self._stopper = threading.Thread(target=self._stop_job, name="percept-stop", daemon=True)
        self._stopper.start()

    def _stop_job(self) -> None:
        from processor_runtime.spark.session import has_ended  # noqa: PLC0415 - Spark is loaded

        try:
            self._job.stop()
        except Exception as error:  # noqa: BLE001 - the end of the thread; said below
            # A signal to the whole process group ends Spark, too, which then has nothing to stop.
            if not has_ended(self._job.spark):
                _log.warning("the job could not be stopped: %s", first_line(error))

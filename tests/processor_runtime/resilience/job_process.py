"""`percept run` as a process of its own, with all that it starts, to be stopped or killed.

folder/in, folder/rules ──► JobProcess(job.yaml) ──► folder/out, folder/checkpoint
         Python driver · JVM · Python workers: one session of the operating system
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import yaml

from tests.processor_runtime.written_rows import KINDS

PERCEPT: Final = str(Path(sys.executable).with_name("percept"))
PATIENCE_SECONDS: Final = 900.0
"""A machine may be very busy; what takes longer hangs."""
_NS_PER_MS: Final = 1_000_000
SMALL_SPARK: Final[Mapping[str, str]] = {
    "spark.master": "local[2]",
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "600m",
    # A JVM that lives for seconds should not spend them on compiling itself.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


def job_document(**keys: Any) -> dict[str, Any]:
    """Return a job file whose paths are relative to where the job is started."""
    document: dict[str, Any] = {
        "name": "test",
        "source": {"format": "json", "path": "in", "max_files_per_batch": 1},
        "discoverer": {
            "type": "directory",
            "path": "rules",
            "interval_seconds": 0.1,
            "settle_seconds": 0.02,
        },
        "outputs": [{"type": "json", "path": "out", "kinds": KINDS}],
        "checkpoint": "checkpoint",
        "trigger": {"processing_time": "50 ms"},
        "shards": 2,
        "spark": dict(SMALL_SPARK),
    }
    return document | keys


@dataclass
class JobProcess:
    """One start of a job; a context manager that kills what is left of it."""

    folder: Path
    document: Mapping[str, Any]
    environment: Mapping[str, str] = field(default_factory=dict)
    log: Path = field(init=False)
    _process: subprocess.Popen[bytes] = field(init=False)

    def __post_init__(self) -> None:
        path = self.folder / "job.yaml"
        path.write_text(yaml.safe_dump(dict(self.document), sort_keys=False), encoding="utf-8")
        number = len(list(self.folder.glob("run-*.log")))
        self.log = self.folder / f"run-{number:02}.log"
        with self.log.open("wb") as output:
            self._process = subprocess.Popen(  # noqa: S603 - our own command
                [PERCEPT, "run", path.name, "--spark-log", "spark.log"],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self.folder,
                env={**_usual_environment(), "COLUMNS": "200", **self.environment},
                start_new_session=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()

    @property
    def text(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait for something that the job is to bring about; fail if the job ends before."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            assert self.is_running, f"the job has ended:\n{self.text}"
            assert time.monotonic() < deadline, f"nothing more happens:\n{self.text}"
            time.sleep(0.02)

    def wait(self) -> int:
        """Wait until it ends by itself; return its exit code. Nothing of it may be left."""
        try:
            code = self._process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the job goes on:\n{self.text}") from None
        self._wait_until_gone()
        return code

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Stop it as a supervisor would; return its exit code."""
        self._process.send_signal(number)
        return self.wait()

    def stop_group(self, number: signal.Signals) -> int:
        """Tell all processes of its group, Spark among them; return the exit code."""
        self.signal_group(number)
        return self.wait()

    def signal_group(self, number: signal.Signals) -> None:
        """Tell all processes of its group, as a terminal does on Ctrl-C and systemd to stop."""
        os.killpg(self._process.pid, number)

    def kill(self) -> None:
        """Kill driver, JVM and workers at once, without any of them noticing."""
        kill_session(self._process)

    def kill_spark(self) -> None:
        """Kill the JVM, and nothing else, as a system does that runs out of memory."""
        # The JVM starts Python by a copy of itself, which has its command line for a moment.
        java = min(
            process
            for process in processes_of_session(self._process.pid)
            if "org.apache.spark.deploy.SparkSubmit" in command_of(process)
        )
        os.kill(java, signal.SIGKILL)

    def _wait_until_gone(self) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while left := processes_of_session(self._process.pid):
            assert time.monotonic() < deadline, f"left over: {[command_of(pid) for pid in left]}"
            time.sleep(0.05)


def _usual_environment() -> dict[str, str]:
    """Return the variables of this process, without what a Spark in it may have set."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_")}


def processes_of_session(session: int) -> list[int]:
    """Return the processes of a session that have not ended."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            # The command in parentheses may hold anything.
            state, _, _, session_id, *_ = path.read_text().rpartition(")")[2].split()
            if int(session_id) == session and state not in {"Z", "X"}:
                found.append(int(path.parent.name))
    return found


def kill_session(leader: subprocess.Popen[bytes]) -> None:
    """Kill a process and all others of its session."""
    while processes := processes_of_session(leader.pid):
        for process in processes:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        leader.poll()
    leader.wait()


def command_of(process: int) -> str:
    """Return the command line of a process; nothing if it has ended."""
    with suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_text().replace("\0", " ").strip()
    return ""


def numbers(directory: Path) -> list[int]:
    """Return the numbers that files of a log of Spark are named by, ascending."""
    names = [path.name for path in directory.glob("*")] if directory.is_dir() else []
    return sorted(int(name) for name in names if name.isdecimal())


def files_read(checkpoint: Path) -> int:
    """Return how many files a source has taken, one in each batch."""
    names = [path.name for path in (checkpoint / "sources/0").glob("[0-9]*")]
    return max((int(name.removesuffix(".compact")) + 1 for name in names), default=0)


def has_finished(checkpoint: Path, files: int) -> bool:
    """Return whether so many files have been read in batches that are done, and no other runs."""
    planned, done = (numbers(checkpoint / name) for name in ("offsets", "commits"))
    if not done or planned[-1:] != done[-1:]:
        return False
    _, _, offset = (checkpoint / "offsets" / f"{done[-1]}").read_text().splitlines()
    return int(json.loads(offset)["logOffset"]) + 1 == files


def watermark_left(checkpoint: Path) -> int | None:
    """Return the watermark that the newest batch that is done has left for the next one."""
    done = numbers(checkpoint / "commits")
    if not done:
        return None
    _, commit = (checkpoint / "commits" / f"{done[-1]}").read_text().splitlines()
    left: int = json.loads(commit)["nextBatchWatermarkMs"]
    return left


def write_whole(path: Path, content: str, time_ns: int | None = None) -> None:
    """Write a file such that nobody ever reads half of it."""
    aside = path.with_name(f".{path.name}")
    aside.write_text(content, encoding="utf-8")
    if time_ns is not None:
        os.utime(aside, ns=(time_ns, time_ns))
    aside.rename(path)


def write_documents(folder: Path, name: str, *documents: Mapping[str, Any]) -> None:
    write_whole(folder / "rules" / f"{name}.json", json.dumps(documents))


def write_events(folder: Path, name: str, events: Sequence[Mapping[str, Any]]) -> None:
    """Give the source a file of events, which it reads after all that it has been given before."""
    # Spark takes files in the order of their times in milliseconds. The clock of a virtual machine
    # may be set back between two files, and two may be written in the same millisecond.
    given = folder / "in"
    newest_ns = max((path.stat().st_mtime_ns for path in given.iterdir()), default=0)
    time_ns = max(time.time_ns(), newest_ns + _NS_PER_MS)
    write_whole(given / f"{name}.json", "\n".join(map(json.dumps, events)), time_ns)

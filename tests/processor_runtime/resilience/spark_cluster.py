"""Spark's own cluster on this machine: a master, two workers, executors that know nothing of us.

master ◄── worker ──► executor ──► Python with the libraries Percept needs, without Percept
       ◄── worker ──► executor ──► …
"""

import os
import socket
import subprocess
import sys
import sysconfig
import time
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyspark

from tests.processor_runtime.resilience.job_process import (
    PATIENCE_SECONDS,
    command_of,
    kill_session,
    processes_of_session,
)

WORKERS: Final = 2
_SPARK_CLASS: Final = Path(pyspark.__file__).parent / "bin" / "spark-class"
_PASSED_ON: Final = ("HOME", "JAVA_HOME", "PATH")


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster that runs.

    `url` is its master, `parts` are master and workers.
    """

    url: str
    parts: Sequence[subprocess.Popen[bytes]]

    def executors(self) -> list[int]:
        """Return the processes of all executors."""
        return [
            process
            for part in self.parts
            for process in processes_of_session(part.pid)
            if "CoarseGrainedExecutorBackend" in command_of(process)
        ]


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """Run a cluster until the block is left.

    Args:
        folder: for logs, and where workers keep what they are sent.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"spark://127.0.0.1:{port}"
    parts: list[subprocess.Popen[bytes]] = []
    try:
        options = ["--port", f"{port}"]
        parts.append(_started(folder, "master", "master.Master", options))
        _wait_for_line(folder / "master.log", "I have been elected leader", 1)
        for number in range(WORKERS):
            name = f"worker-{number}"
            options = ["--cores", "1", "--memory", "1g", "--work-dir", str(folder / name), url]
            parts.append(_started(folder, name, "worker.Worker", options))
        _wait_for_line(folder / "master.log", "Registering worker", WORKERS)
        yield Cluster(url, parts)
    finally:
        for part in parts:
            kill_session(part)


def python_without_percept(folder: Path) -> Path:
    """Return a Python with everything that is installed beside this one, but not what it edits.

    Percept is installed for development by a file in `site-packages` that names its folder. Such
    files count only there, and not where another environment names `site-packages` as a whole.
    """
    venv.create(folder, symlinks=True, with_pip=False)
    (site_packages,) = folder.glob("lib/python*/site-packages")
    libraries = sysconfig.get_path("purelib")
    (site_packages / "libraries.pth").write_text(f"{libraries}\n", encoding="utf-8")
    return folder / "bin" / Path(sys.executable).name


def can_import(python: Path, module: str) -> bool:
    """Return whether a Python has a module, started somewhere else and with a bare environment."""
    command = [str(python), "-c", f"import {module}"]
    done = subprocess.run(command, cwd="/", env=_environment(), capture_output=True, check=False)  # noqa: S603 - our own command
    return done.returncode == 0


def _environment() -> dict[str, str]:
    return {name: os.environ[name] for name in _PASSED_ON if name in os.environ}


def _started(folder: Path, name: str, main: str, options: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start a part of the cluster, in a session of its own."""
    log = folder / f"{name}.log"
    with log.open("wb") as output:
        return subprocess.Popen(  # noqa: S603 - our own command
            [
                str(_SPARK_CLASS),
                f"org.apache.spark.deploy.{main}",
                *("--host", "127.0.0.1", "--webui-port", "0"),
                *options,
            ],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=folder,
            env=_environment()
            | {
                "SPARK_DAEMON_MEMORY": "256m",
                "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
                "SPARK_LOCAL_IP": "127.0.0.1",
            },
            start_new_session=True,
        )


def _wait_for_line(log: Path, text: str, times: int) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (told := log.read_text(encoding="utf-8", errors="replace")).count(text) < times:
        assert time.monotonic() < deadline, told
        time.sleep(0.1)

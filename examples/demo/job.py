"""The streaming job of the demo, and a worker for backtests: processes of their own.

files of events ──► percept run (Spark) ──► files of matches, recent matches, heartbeats
       └──────────► percept work ──► backtests
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from examples.demo.events import STREAM
from examples.demo.processes import PERCEPT, ChildProcess

TOKEN_VARIABLE: Final = "PERCEPT_TOKEN"  # noqa: S105 - the name of a variable
KEYS_VARIABLE: Final = "PERCEPT_SIGNING_KEYS"

Row = dict[str, Any]


def job_file(service_url: str) -> dict[str, Any]:
    """Return the job file; its paths are relative to the directory of the demo."""
    return {
        "name": "demo",
        "stream": STREAM["name"],
        "source": {"format": "json", "path": "events"},
        "discoverer": {"type": "http", "url": service_url, "token_env": TOKEN_VARIABLE},
        "service": {"url": service_url, "token_env": TOKEN_VARIABLE},
        "signing_keys_env": KEYS_VARIABLE,
        "outputs": [
            {"type": "json", "path": "matches", "kinds": ["match", "late", "error"]},
            {"type": "service"},
        ],
        "checkpoint": "checkpoint",
        "trigger": {"processing_time": "200 ms"},
        "shards": 2,
        "spark": {
            "spark.master": "local[2]",
            "spark.ui.enabled": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
        },
    }


def start_job(directory: Path, service_url: str, environment: Mapping[str, str]) -> ChildProcess:
    """Start the job; its files are below a directory.

    Args:
        directory: where `job.yaml`, `events`, `matches` and `checkpoint` are.
        service_url: the rule service.
        environment: with the job's token and the signing keys.
    """
    path = directory / "job.yaml"
    path.write_text(yaml.safe_dump(job_file(service_url), sort_keys=False), encoding="utf-8")
    command = [PERCEPT, "run", str(path), "--spark-log", str(directory / "spark.log")]
    return ChildProcess("job", command, directory, environment, 60)


def start_worker(directory: Path, service_url: str, environment: Mapping[str, str]) -> ChildProcess:
    """Start a worker that runs backtests over the events that the job has been fed.

    Args:
        directory: where `events` is.
        service_url: the rule service.
        environment: with the token, and the signing keys.
    """
    archive = f"{STREAM['name']}={directory / 'events'}"
    command = [PERCEPT, "work", "--archive", archive, "--url", service_url, "--name", "demo"]
    return ChildProcess("worker", command, directory, environment, 20)


def output_rows(directory: Path) -> Iterator[Row]:
    """Yield the rows that the job has written to its files."""
    for path in sorted((directory / "matches").glob("batch=*/*.json")):
        for line in path.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


class ChangeLines:
    """Reads the changes from the job's log: `RULE vN: active from …`.

    Args:
        log: the log, which grows.
    """

    def __init__(self, log: Path) -> None:
        self._log = log
        self._read = 0

    def new_lines(self) -> Iterator[str]:
        """Yield the lines that were written since the last call."""
        with self._log.open("rb") as source:
            source.seek(self._read)
            whole, newline, _ = source.read().rpartition(b"\n")
        self._read += len(whole) + len(newline)
        for line in whole.decode("utf-8", "replace").splitlines():
            if line.startswith("  ") and " v" in line.partition(":")[0]:
                yield line.strip()

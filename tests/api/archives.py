"""An archive of events beside a service, and a worker that runs what waits for it."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cep.instants import iso_text
from cep.signing.keys import SigningKeys
from contract.service.tokens import Role
from processor_runtime.backtest.worker.archives import read_archives
from processor_runtime.backtest.worker.turns import Worker, WorkLimits
from processor_runtime.reporting.rule_service import RuleService
from tests.api.listening import KEYS, ListeningService

_ACTIONS = ("fail", "fail", "fail", "login")
_STEPS_MS = {"eve": 1_000, "bob": 60_000}


def write_archive(folder: Path, begin_ms: int) -> Path:
    """Make a folder of events of two keys from this time on, beside what is none, and return it.

    There is one match on `eve` within a minute, and one on `bob` within an hour.
    """
    folder.mkdir()
    for user, step_ms in _STEPS_MS.items():
        events = [
            {"user": user, "action": action, "amount": 1.5, "ts": iso_text(begin_ms + at * step_ms)}
            for at, action in enumerate(_ACTIONS)
        ]
        lines = "\n".join(map(json.dumps, events))
        (folder / f"{user}.jsonl").write_text(lines, encoding="utf-8")
    (folder / "_SUCCESS").write_text("", encoding="utf-8")
    (folder / ".writing.jsonl").write_text("{", encoding="utf-8")
    return folder


def run(listening: ListeningService, archive: Path, **limits: Any) -> int:
    """Run what waits for a worker with this archive; return how many turns there were."""
    with _worker(listening, archive, KEYS, threading.Event(), **limits) as worker:
        return worker.run(until_idle=True)


@contextmanager
def working(
    listening: ListeningService, archive: Path, keys: SigningKeys | None = None
) -> Iterator[None]:
    """Let a worker with this archive run meanwhile, as `percept work` does."""
    stop = threading.Event()
    options = {"until_idle": False, "pause_seconds": 0.1}
    with _worker(listening, archive, keys, stop) as worker:
        thread = threading.Thread(target=worker.run, kwargs=options)
        thread.start()
        yield
        stop.set()
        thread.join()


@contextmanager
def _worker(
    listening: ListeningService,
    archive: Path,
    keys: SigningKeys | None,
    stop: threading.Event,
    **limits: Any,
) -> Iterator[Worker]:
    service = RuleService(listening.url, lambda: listening.service.token_of[Role.JOB])
    archives = read_archives([f"logins={archive}"])
    try:
        yield Worker(service, "one", archives, WorkLimits(**limits), keys, stop)
    finally:
        service.close()


@contextmanager
def work_process(listening: ListeningService, archive: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run `percept work` with this archive as a process of its own, which is killed at the end."""
    environment = os.environ | {"PERCEPT_TOKEN": listening.service.token_of[Role.JOB]}
    words = ["work", "--archive", f"logins={archive}", "--url", listening.url]
    process = subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-m", "percept", *words], env=environment, stderr=subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()

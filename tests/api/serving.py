"""`percept serve` as a process of its own."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2

_SERVE = "from api.commands import serve; import typer; typer.run(serve)"


@dataclass
class Served:
    """A service that runs; `log` is what it has written."""

    process: subprocess.Popen[bytes]
    log: Path
    url: str = ""
    token: str = ""

    def stop(self) -> float:
        """Stop it as an operator would and return how long that took, in seconds."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=20)
        return time.monotonic() - began


@contextmanager
def served(folder: Path, database_url: str, port: int) -> Iterator[Served]:
    """Run `percept serve` until it is ready; kill it at the end if it still runs."""
    log = folder / f"serve-{port}.log"
    command = [sys.executable, "-c", _SERVE, "--port", str(port), "--database-url", database_url]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - our own command
            command, stderr=output, cwd=folder, env=environment
        )
    running = Served(process, log, f"http://127.0.0.1:{port}")
    try:
        _wait_until_ready(running, port)
        text = log.read_text(encoding="utf-8")
        if found := re.search(r"percept_[A-Za-z0-9_-]{43}", text):
            running.token = found[0]
        yield running
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def _wait_until_ready(running: Served, port: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and running.process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.1)
        else:
            assert httpx2.get(f"{running.url}/readyz").status_code == 200
            return
    raise AssertionError(running.log.read_text(encoding="utf-8"))

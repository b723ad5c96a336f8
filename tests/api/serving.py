"""`percept serve` as a process of its own."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import httpx2

from tests.patience import FAR_LONGER_SECONDS, PATIENCE_SECONDS, eventually

_SERVE = "from api.commands import serve; import typer; typer.run(serve)"
_FEW_DESCRIPTORS = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({0}, {0})); "


@dataclass
class Served:
    """A service that runs; `log` is what it has written."""

    process: subprocess.Popen[bytes]
    log: Path
    url: str = ""
    token: str = ""

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        host, _, port = self.url.removeprefix("http://").partition(":")
        return host, int(port)

    @property
    def authorization(self) -> dict[str, str]:
        """The header that makes a request one of the admin."""
        return {"Authorization": f"Bearer {self.token}"}

    def wait_for_reader(self) -> None:
        """Wait until a request is held open by it."""
        url, headers = f"{self.url}/metrics", self.authorization
        eventually(lambda: "percept_waiting_readers 1.0" in httpx2.get(url, headers=headers).text)

    def stop(self) -> None:
        """Stop it as an operator would; fails if requests that wait hold the stop up."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(PATIENCE_SECONDS)


@contextmanager
def served(
    folder: Path,
    database_url: str,
    port: int,
    *,
    descriptors: int | None = None,
    settings: Mapping[str, object] = MappingProxyType({}),
) -> Iterator[Served]:
    """Run `percept serve` until it is ready; kill it at the end if it still runs.

    With `descriptors` it cannot have more files and connections open than these. `settings` are
    those of `api.settings`, by name.
    """
    log = folder / f"serve-{port}.log"
    limited = _FEW_DESCRIPTORS.format(descriptors) if descriptors else ""
    command = [
        sys.executable,
        "-c",
        limited + _SERVE,
        "--port",
        str(port),
        "--database-url",
        database_url,
    ]
    environment = os.environ | {
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "PERCEPT_STOP_SECONDS": f"{FAR_LONGER_SECONDS:.0f}",
        "PERCEPT_MAX_WAIT_SECONDS": f"{FAR_LONGER_SECONDS:.0f}",
    }
    environment |= {f"PERCEPT_{name.upper()}": f"{value}" for name, value in settings.items()}
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
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline and running.process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.1)
        else:
            assert httpx2.get(f"{running.url}/readyz").status_code == 200
            return
    raise AssertionError(running.log.read_text(encoding="utf-8"))

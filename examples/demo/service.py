"""The rule service of the demo: `percept serve` on SQLite, on loopback, with its own tokens.

percept token ──► percept serve ──► DemoService (publish, ask what runs)
"""

import os
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2
from pydantic import BaseModel, ConfigDict

from cep.instants import Instant
from contract.reports import Counters
from examples.demo.events import STREAM
from examples.demo.processes import PERCEPT, ChildProcess
from percept import Client, SigningKeys

_START_SECONDS: Final = 120
_HOST: Final = "127.0.0.1"


class ReportedJob(BaseModel):
    """The status of the job from its heartbeats; times are milliseconds."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    instance_id: str
    state: str
    epoch: int | None = None
    watermark: Instant | None = None
    newest_event_time: Instant | None = None
    events_per_second: float = 0.0
    counters: Counters = Counters()
    partial_matches: int = 0


@dataclass(frozen=True, slots=True)
class DemoService:
    """A running service, and requests to it."""

    url: str
    client: Client
    _http: httpx2.Client
    _process: ChildProcess

    def create_token(self, name: str, role: str, person: str = "") -> str:
        """Create a token and return it; `person` is who may approve with it."""
        given = {"name": name, "role": role} | ({"person": person} if person else {})
        answer = self._http.post("/v1/tokens", json=given)
        return str(answer.raise_for_status().json()["token"])

    def ask_for_approvals(self, required: int) -> None:
        """Let changes of rules be approved by so many people other than their author."""
        path = f"/v1/streams/{STREAM['name']}/approvals"
        answer = self._http.put(
            path, json={"required": required, "lists": False}, headers={"If-Match": "*"}
        )
        answer.raise_for_status()

    def job(self) -> ReportedJob | None:
        """Return the job of the stream; `None` until it has registered.

        Raises:
            ProcessEnded: the service has ended.
        """
        self._process.check()
        answer = self._http.get(f"/v1/streams/{STREAM['name']}/jobs").raise_for_status()
        jobs = [ReportedJob.model_validate(each) for each in answer.json()]
        return jobs[0] if jobs else None

    def count_matches(self) -> int:
        """Return how many of the newest matches it can show, up to a page of them."""
        answer = self._http.get(f"/v1/streams/{STREAM['name']}/matches", params={"limit": 100})
        return len(answer.raise_for_status().json()["items"])


@contextmanager
def demo_service(
    directory: Path, environment: Mapping[str, str], keys: SigningKeys
) -> Iterator[DemoService]:
    """Run the service inside the block.

    Args:
        directory: for its database and its log.
        environment: variables of the process.
        keys: the keys for signing Python code.
    """
    database = f"sqlite:///{directory / 'percept.db'}"
    token = _first_token(database, environment)
    port = _free_port()
    url = f"http://{_HOST}:{port}"
    command = [PERCEPT, "serve", "--host", _HOST, "--port", str(port), "--database-url", database]
    with (
        ChildProcess("service", command, directory, environment, 20) as process,
        Client(url, token, signing_keys=keys) as client,
        httpx2.Client(
            base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=30
        ) as http,
    ):
        _wait_until_ready(process, http)
        yield DemoService(url, client, http, process)


def plain_environment(**added: str) -> dict[str, str]:
    """Return the variables of this process without settings of Percept, and some more.

    The output of child processes goes to a file: without colours, in long lines.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PERCEPT_") and name not in {"FORCE_COLOR", "TTY_COMPATIBLE"}
    }
    return kept | {"NO_COLOR": "1", "COLUMNS": "200"} | added


def _first_token(database: str, environment: Mapping[str, str]) -> str:
    command = [PERCEPT, "token", "create", "demo admin", "--role", "admin"]
    answer = subprocess.run(  # noqa: S603 - our own command
        [*command, "--database-url", database],
        capture_output=True,
        text=True,
        check=False,
        env=dict(environment),
        start_new_session=True,
    )
    if answer.returncode:
        raise RuntimeError(f"no token could be made: {answer.stderr.strip()}")
    return answer.stdout.strip()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        port: Any = probe.getsockname()[1]
        return int(port)


def _wait_until_ready(process: ChildProcess, http: httpx2.Client) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        process.check()
        try:
            if http.get("/readyz").is_success:
                return
        except httpx2.TransportError:
            pass  # it does not listen yet
        time.sleep(0.1)
    raise TimeoutError(f"the service was not ready after {_START_SECONDS} s; see {process.log}")

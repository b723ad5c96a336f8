"""A job whose rules come from a rule service, each as a process of its own.

percept serve ──rules──► percept run ──heartbeats──► percept serve
"""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2

from api.client import Client
from tests.api.serving import Served, served
from tests.letters import followed
from tests.processor_runtime.resilience.job_process import (
    JobProcess,
    has_finished,
    job_document,
    write_events,
)
from tests.processor_runtime.rule_documents import stream_of
from tests.processor_runtime.written_rows import written

STREAM: Final = stream_of("logins", "user STRING, action STRING, ts BIGINT")


@dataclass
class OwnService:
    """The rule service of one job, which comes and goes."""

    folder: Path
    port: int = 0
    token: str = ""

    def __post_init__(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        return {"PERCEPT_TOKEN": self.token}

    @property
    def discoverer(self) -> dict[str, str]:
        return {"type": "http", "url": self.url, "token_env": "PERCEPT_TOKEN"}

    @contextmanager
    def service(self) -> Iterator[Served]:
        """Run the service, on the same port and database each time."""
        with served(self.folder, f"sqlite:///{self.folder / 'percept.db'}", self.port) as running:
            self.token = running.token or self.token
            yield running

    @contextmanager
    def client(self) -> Iterator[Client]:
        with Client(self.url, self.token) as client:
            yield client


@dataclass
class ServiceJob(OwnService):
    """A folder with a job, and the service it belongs to."""

    files: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        (self.folder / "in").mkdir()

    def start(self) -> JobProcess:
        """Start the job."""
        document = job_document(
            stream="logins",
            discoverer=self.discoverer,
            service={"url": self.url, "token_env": "PERCEPT_TOKEN"},
            first_snapshot_timeout="2 seconds",
        )
        return JobProcess(self.folder, document, self.environment)

    def reported(self) -> dict[str, Any]:
        """Return how the service shows the job; nothing if it does not know it."""
        headers = {"Authorization": f"Bearer {self.token}"}
        answer = httpx2.get(f"{self.url}/v1/streams/logins/jobs", headers=headers)
        assert answer.is_success, answer.text
        (found,) = answer.json() or [{}]
        return dict(found)

    def give(self, *actions: str, **columns: Any) -> list[dict[str, Any]]:
        """Give the source a file with actions of one user, one a second; return these events.

        Another event comes after them, so that the watermark passes them.
        """
        begin_ms = 1_000_000 * (self.files + 1)
        events = [
            {"user": "ana", "action": action, "ts": begin_ms + 1_000 * place, **columns}
            for place, action in enumerate([*actions, "nothing"])
        ]
        write_events(self.folder, f"{self.files:03}", events)
        self.files += 1
        return events[:-1]

    def has_finished(self) -> bool:
        return has_finished(self.folder / "checkpoint", self.files)

    def wait_until_newest_rules_run(self, process: JobProcess) -> None:
        """Give events that concern no rule, for rules are taken between batches."""

        def is_newest() -> bool:
            self.give()
            process.wait_until(self.has_finished)
            reported = self.reported()
            return bool(reported.get("epoch") == reported.get("newest_epoch"))

        process.wait_until(is_newest)

    def found(self) -> list[tuple[str, list[dict[str, Any]]]]:
        """Return processor and events of all matches, in order of the batches."""
        return [
            (row["processor_id"], [event for events in row["events"].values() for event in events])
            for row in written(self.folder)
        ]


def sequence(*actions: str) -> dict[str, Any]:
    return followed(*((action, f"action = '{action}'") for action in actions))

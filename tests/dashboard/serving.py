"""The service with its dashboard on a port of its own, for a browser."""

import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
from fastapi import FastAPI

from api.runtime import system_clock_ms
from api.server.listening import Server
from api.settings import Settings
from api.store.database import Database
from contract.service.tokens import Role
from tests.api.documents import ANY_STATE, STREAM
from tests.api.running import forget, made_app, new_tokens
from tests.patience import PATIENCE_SECONDS

RULE = "/streams/logins/rules/failed-logins"
"""The page of the rule that documents of tests are of."""
MARKUP = "<img src=x onerror=alert(1)>"


@dataclass
class ShiftedClock:
    """The clock of the machine, which a test may put forward for the service alone."""

    shift_ms: int = 0

    def __call__(self) -> int:
        return system_clock_ms() + self.shift_ms


@dataclass
class ServedDashboard:
    """A service that listens, one token per role, and a client that is an admin."""

    url: str
    app: FastAPI
    clock: ShiftedClock
    client: httpx2.Client
    token_of: dict[Role, str] = field(default_factory=dict)

    @property
    def database(self) -> Database:
        database: Database = self.app.state.runtime.database
        return database

    def begin_anew(self) -> None:
        self.clock.shift_ms = 0
        forget(self.app, self.app.state.runtime.settings, self.clock)
        self.begin()

    def begin(self) -> None:
        """Make a token for each role, and the stream `logins`."""
        self.token_of = new_tokens(self.database, self.clock(), suffix=" token")
        self.client.cookies.clear()
        self.client.headers["Authorization"] = f"Bearer {self.token_of[Role.ADMIN]}"
        self.post("/v1/streams", STREAM)

    def get(self, path: str, **query: Any) -> Any:
        answer = self.client.get(path, params=query)
        assert answer.is_success, answer.text
        return answer.json()

    def post(self, path: str, body: Any = None, **query: Any) -> Any:
        """Post a body, in whatever state things are, and return the answer."""
        answer = self.client.post(path, json=body, params=query, headers=ANY_STATE)
        assert answer.is_success, answer.text
        return answer.json()

    def put(self, path: str, body: Any, **query: Any) -> None:
        """Put a body, in whatever state things are."""
        answer = self.client.put(path, json=body, params=query, headers=ANY_STATE)
        assert answer.is_success, answer.text

    def ask_approvals(self, required: int = 1, **more: Any) -> None:
        """Let changes of the stream `logins` be approved by so many people."""
        self.put("/v1/streams/logins/approvals", {"required": required, **more})

    def publish(self, document: dict[str, Any], **query: Any) -> Any:
        """Create a processor, or put a new version of it."""
        answer = self.client.post("/v1/processors", json=document, params=query)
        if answer.status_code == 409:
            path = f"/v1/processors/{document['id']}"
            answer = self.client.put(path, json=document, headers=ANY_STATE)
        assert answer.is_success, answer.text
        return answer.json()


@contextmanager
def served_copy(template: Path, folder: Path, **settings: Any) -> Iterator[ServedDashboard]:
    """Yield a service on a copy of a migrated SQLite file."""
    copied = shutil.copy(template, folder / "percept.db")
    with served_dashboard(f"sqlite:///{copied}", **settings) as served:
        yield served


@contextmanager
def served_dashboard(database_url: str, **settings: Any) -> Iterator[ServedDashboard]:
    """Yield a service on a migrated store, with the stream `logins`."""
    clock = ShiftedClock()
    # On a busy machine minutes may pass between two steps of a test; jobs go stale by the clock.
    patient = {"max_wait_seconds": 5, "stale_after_heartbeats": 60}
    chosen: dict[str, Any] = {"requests_per_second": 1e6, **patient, **settings}
    wanted = Settings(database_url=database_url, port=0, trusted_proxies="127.0.0.1", **chosen)
    app = made_app(wanted, clock)
    server = Server(app, wanted, app.state.runtime.bell.close)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        with httpx2.Client(base_url=url, timeout=PATIENCE_SECONDS) as client:
            served = ServedDashboard(url, app, clock, client)
            served.begin()
            yield served
    finally:
        server.should_exit = True
        thread.join()

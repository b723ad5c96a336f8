"""The service with its dashboard on a port of its own, for a browser."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2

from api.access.authentication import Role
from api.runtime import system_clock_ms
from api.server.listening import Server
from api.settings import Settings
from api.store.database import Database
from api.tokens import service as tokens
from api.tokens.schemas import TokenDocument
from api.transactions import Writing
from tests.api.documents import ANY_STATE, STREAM
from tests.api.running import made_app
from tests.patience import PATIENCE_SECONDS


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
    clock: ShiftedClock
    client: httpx2.Client
    database: Database
    token_of: dict[Role, str] = field(default_factory=dict)

    def get(self, path: str, **query: Any) -> Any:
        """Return what a path answers."""
        answer = self.client.get(path, params=query)
        assert answer.is_success, answer.text
        return answer.json()

    def post(self, path: str, body: Any = None, **query: Any) -> Any:
        """Post a body, in whatever state things are, and return the answer."""
        answer = self.client.post(path, json=body, params=query, headers=ANY_STATE)
        assert answer.is_success, answer.text
        return answer.json()

    def publish(self, document: dict[str, Any], **query: Any) -> Any:
        """Create a processor, or put a new version of it."""
        answer = self.client.post("/v1/processors", json=document, params=query)
        if answer.status_code == 409:
            path = f"/v1/processors/{document['id']}"
            answer = self.client.put(path, json=document, headers=ANY_STATE)
        assert answer.is_success, answer.text
        return answer.json()


@contextmanager
def served_dashboard(database_url: str, **settings: Any) -> Iterator[ServedDashboard]:
    """Yield a service on a migrated store, with the stream `logins`."""
    clock = ShiftedClock()
    # On a busy machine minutes may pass between two steps of a test; jobs go stale by the clock.
    patient = {"max_wait_seconds": 5, "stale_after_heartbeats": 60}
    chosen: dict[str, Any] = {"requests_per_second": 1e6, **patient, **settings}
    wanted = Settings(database_url=database_url, port=0, **chosen)
    app = made_app(wanted, clock)
    database: Database = app.state.runtime.database
    token_of = _tokens(database, clock())
    server = Server(app, wanted, app.state.runtime.bell.close)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        authorization = {"Authorization": f"Bearer {token_of[Role.ADMIN]}"}
        with httpx2.Client(base_url=url, headers=authorization, timeout=PATIENCE_SECONDS) as client:
            served = ServedDashboard(url, clock, client, database, token_of)
            served.post("/v1/streams", STREAM)
            yield served
    finally:
        server.should_exit = True
        thread.join()


def _tokens(database: Database, now_ms: int) -> dict[Role, str]:
    with database.writing() as session:
        writing = Writing(session, "test", now_ms)
        return {
            role: tokens.create(writing, TokenDocument(name=f"{role} token", role=role)).token
            for role in Role
        }

"""A real rule service on a real port, which can be stopped and started again."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from api.server.listening import Server
from api.settings import Settings
from api.store.database import Database, migrate
from api.tokens import service as tokens
from api.transactions import Writing
from contract.service.tokens import Role, TokenDocument
from tests.api.documents import STREAM
from tests.api.running import made_app
from tests.patience import FAR_LONGER_SECONDS, PATIENCE_SECONDS, eventually
from tests.ports import free_port


@dataclass
class RuleService:
    """The service on a SQLite file; its stream is `logins`."""

    folder: Path
    port: int = 0
    token_of: dict[Role, str] = field(default_factory=dict)
    confined_token: str = ""
    """Of a job, and of its stream alone."""

    def __post_init__(self) -> None:
        self.port = free_port()
        self._settings = Settings(
            database_url=f"sqlite:///{self.folder / 'percept.db'}",
            requests_per_second=1e6,
            max_wait_seconds=FAR_LONGER_SECONDS,
            port=self.port,
            stop_seconds=5,
        )
        database = Database(self._settings.database_url)
        migrate(database.engine)
        with database.writing() as session:
            writing = Writing(session, "test", 0)
            for role in (Role.ADMIN, Role.JOB):
                wanted = TokenDocument(name=role.value, role=role)
                self.token_of[role] = tokens.create(writing, wanted).token
            confined = TokenDocument(name="confined", role=Role.JOB, streams=[STREAM["name"]])
            self.confined_token = tokens.create(writing, confined).token
        database.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def waiting_readers(self) -> int:
        """How many long polls are open."""
        waiting: int = self._app.state.runtime.bell.waiting_readers
        return waiting

    def start(self) -> None:
        self._app = made_app(self._settings)
        self._server = Server(self._app, self._settings, self._app.state.runtime.bell.close)
        self._thread = threading.Thread(target=self._server.run)
        self._thread.start()
        eventually(lambda: self._server.started)

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(PATIENCE_SECONDS)

    def request(self, method: str, path: str, **parts: Any) -> httpx2.Response:
        headers = {"Authorization": f"Bearer {self.token_of[Role.ADMIN]}", "If-Match": "*"}
        answer = httpx2.request(method, f"{self.url}{path}", headers=headers, **parts)
        assert answer.is_success, answer.text
        return answer

    def register_stream(self) -> None:
        self.request("POST", "/v1/streams", json=STREAM)

    def publish(self, document: dict[str, Any]) -> None:
        self.request("POST", "/v1/processors", json=document)


@contextmanager
def serving(folder: Path) -> Iterator[RuleService]:
    """Yield the service with the stream `logins`, listening."""
    service = RuleService(folder)
    service.start()
    service.register_stream()
    yield service
    service.stop()

"""A service that listens on a port of its own, for clients that speak HTTP."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx2

from api.client import Client
from api.server.listening import Server
from api.settings import Settings
from cep.signing.keys import SigningKey, SigningKeys
from contract.service.tokens import Role
from tests.api.documents import STREAM
from tests.api.running import Service, running_service
from tests.patience import PATIENCE_SECONDS

KEYS = SigningKeys((SigningKey("new", b"n" * 32), SigningKey("old", b"o" * 32)))


@dataclass(frozen=True)
class ListeningService:
    """A service with the stream `logins`, and where it listens."""

    url: str
    service: Service
    server: Server

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        host, _, port = self.url.removeprefix("http://").partition(":")
        return host, int(port)

    @property
    def waiting_readers(self) -> int:
        """How many requests are held open."""
        waiting: int = self.service.app.state.runtime.bell.waiting_readers
        return waiting

    def begin_anew(self) -> None:
        """Forget what tests have left."""
        self.service.begin_anew()
        self.begin()

    def begin(self) -> None:
        """Make the stream `logins`."""
        self.service.client.post("/v1/streams", json=STREAM).raise_for_status()

    def asynchronous_client(self, connections: int = 100) -> httpx2.AsyncClient:
        """Return a client with the admin token that makes many requests at once."""
        return httpx2.AsyncClient(
            base_url=self.url,
            headers=self.service.client.headers,
            timeout=PATIENCE_SECONDS,
            limits=httpx2.Limits(max_connections=connections),
        )

    def client(self, role: Role = Role.ADMIN) -> Client:
        """Return a client with the signing keys and the token of a role."""
        return Client(self.url, self.service.token_of[role], signing_keys=KEYS)


@contextmanager
def listening_service(database_url: str, **settings: Any) -> Iterator[ListeningService]:
    """Yield a service on a free port, with the stream `logins` and the signing keys `KEYS`."""
    with running_service(database_url, signing_keys=KEYS, port=0, **settings) as service:
        chosen: Settings = service.app.state.runtime.settings
        server = Server(service.app, chosen, lambda: None, lifespan="off")
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            while not server.started:
                time.sleep(0.01)
            port = server.servers[0].sockets[0].getsockname()[1]
            listening = ListeningService(f"http://127.0.0.1:{port}", service, server)
            listening.begin()
            yield listening
        finally:
            server.should_exit = True
            thread.join()

"""A service that listens on a port of its own, for clients that speak HTTP."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import uvicorn

from api.access.authentication import Role
from api.client import Client
from cep.signing.keys import SigningKey, SigningKeys
from tests.api.documents import STREAM
from tests.api.running import ServiceUnderTest, running_service

KEYS = SigningKeys((SigningKey("new", b"n" * 32), SigningKey("old", b"o" * 32)))


@dataclass(frozen=True)
class ListeningService:
    """A service with the stream `logins`, and where it listens."""

    url: str
    service: ServiceUnderTest

    def client(self, role: Role = Role.ADMIN) -> Client:
        """Return a client with the signing keys and the token of a role."""
        return Client(self.url, self.service.token_of[role], signing_keys=KEYS)


@contextmanager
def listening_service(database_url: str) -> Iterator[ListeningService]:
    """Yield a service on a free port, with the stream `logins` and the signing keys `KEYS`."""
    with running_service(database_url, signing_keys=KEYS) as service:
        config = uvicorn.Config(service.app, port=0, lifespan="off", log_config=None)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            while not server.started:
                time.sleep(0.01)
            port = server.servers[0].sockets[0].getsockname()[1]
            service.client.post("/v1/streams", json=STREAM).raise_for_status()
            yield ListeningService(f"http://127.0.0.1:{port}", service)
        finally:
            server.should_exit = True
            thread.join()

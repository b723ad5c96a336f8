"""The tokens of a service, from Python: made, listed, revoked; for admins.

client.tokens.create("payments job", role="job") ──► its text, once · ….list() · ….revoke(id)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import RootModel

from api.client.connection import Connection
from contract.service.tokens import NewToken, TokenView


@dataclass(frozen=True, slots=True)
class TokenClient:
    """What can be done with tokens. Every call raises `ServiceError`."""

    connection: Connection

    def list(self) -> list[TokenView]:
        """Return all tokens, oldest first, also those that are no longer valid."""
        return self.connection.read(RootModel[list[TokenView]], "GET", "/v1/tokens").root

    def create(
        self,
        name: str,
        *,
        role: str,
        person: str | None = None,
        expires_at_ms: int | None = None,
        streams: Sequence[str] | None = None,
    ) -> NewToken:
        """Make a token.

        Args:
            name: who or what will use it.
            role: viewer, author, publisher, admin or job.
            person: whose it is, who may then approve proposals.
            expires_at_ms: until when it is valid, milliseconds since 1970; `None` = for good.
            streams: the only ones it reads and writes; `None` = all.
        """
        body: dict[str, Any] = {
            "name": name,
            "role": role,
            "person": person,
            "expires_at": expires_at_ms,
            "streams": None if streams is None else [*streams],
        }
        body = {key: value for key, value in body.items() if value is not None}
        return self.connection.read(NewToken, "POST", "/v1/tokens", body=body)

    def revoke(self, token_id: str) -> None:
        """Make a token invalid from now on.

        Raises:
            NotFound: there is none with this id.
            Conflict: it is the one in use.
        """
        self.connection.send("DELETE", f"/v1/tokens/{token_id}")

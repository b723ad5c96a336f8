"""Webhooks of the service, from Python: made, changed, tested; for admins.

client.webhooks.create("on call", url, events) ──► its secret, once · .test(id) · .deliveries(id)
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from api.client.connection import Connection
from api.client.views import View
from cep.instants import Instant

_PATH: Final = "/v1/webhooks"


class Webhook(View):
    """One receiver of what needs attention; `pending` messages have not arrived yet."""

    id: str
    name: str
    url: str
    events: list[str]
    stream: str | None
    enabled: bool
    pending: int
    created_at: Instant
    created_by: str


@dataclass(frozen=True, slots=True)
class NewSecret:
    """A webhook and its new secret, which is told once."""

    webhook: Webhook
    secret: str = field(repr=False)


class Delivery(View):
    """One message to a webhook; `state` is pending, delivered or failed."""

    number: int
    message_id: str
    event: str
    state: str
    attempts: int
    next_attempt_at: Instant | None
    created_at: Instant
    ended_at: Instant | None
    status: int | None
    error: str
    body: str


class _WithSecret(Webhook):
    secret: str


@dataclass(frozen=True, slots=True)
class WebhookClient:
    """What can be done with webhooks. Every call raises `ServiceError`."""

    connection: Connection

    def list(self) -> list[Webhook]:
        """Return all webhooks, by name."""
        found: list[Any] = self.connection.send("GET", _PATH).json()
        return [Webhook.model_validate(each) for each in found]

    def create(
        self, name: str, url: str, events: Sequence[str], *, stream: str | None = None
    ) -> NewSecret:
        """Make a webhook, of all streams or one."""
        body = {"name": name, "url": url, "events": [*events], "stream": stream}
        return _new_secret(self.connection.read(_WithSecret, "POST", _PATH, body=body))

    def change(self, webhook_id: str, **changes: Any) -> Webhook:
        """Change `name`, `url`, `events` or `enabled`."""
        return self.connection.read(Webhook, "PATCH", f"{_PATH}/{webhook_id}", body=changes)

    def renew_secret(self, webhook_id: str) -> NewSecret:
        """Give it another secret; the one before signs nothing any more."""
        path = f"{_PATH}/{webhook_id}/secret"
        return _new_secret(self.connection.read(_WithSecret, "POST", path))

    def test(self, webhook_id: str) -> Delivery:
        """Send a test; `deliveries` tells what became of it."""
        return self.connection.read(Delivery, "POST", f"{_PATH}/{webhook_id}/test")

    def delete(self, webhook_id: str) -> None:
        """Remove it with all its messages."""
        self.connection.send("DELETE", f"{_PATH}/{webhook_id}")

    def deliveries(self, webhook_id: str) -> Iterator[Delivery]:
        """Yield its messages, newest first."""
        return self.connection.pages(Delivery, f"{_PATH}/{webhook_id}/deliveries")


def _new_secret(found: _WithSecret) -> NewSecret:
    webhook = Webhook.model_validate(found.model_dump(exclude={"secret"}))
    return NewSecret(webhook, found.secret)

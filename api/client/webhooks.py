"""Webhooks of the service, from Python: made, changed, tested; for admins.

client.webhooks.create("on call", url, events) ──► its secret, once · .test(id) · .deliveries(id)
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import RootModel

from api.client.connection import Connection
from contract.service.webhooks import DeliveryView, WebhookView, WebhookWithSecret

_PATH: Final = "/v1/webhooks"


@dataclass(frozen=True, slots=True)
class WebhookClient:
    """What can be done with webhooks. Every call raises `ServiceError`."""

    connection: Connection

    def list(self) -> list[WebhookView]:
        """Return all webhooks, by name."""
        return self.connection.read(RootModel[list[WebhookView]], "GET", _PATH).root

    def create(
        self, name: str, url: str, events: Sequence[str], *, stream: str | None = None
    ) -> WebhookWithSecret:
        """Make a webhook, of all streams or one."""
        body = {"name": name, "url": url, "events": [*events], "stream": stream}
        return self.connection.read(WebhookWithSecret, "POST", _PATH, body=body)

    def change(self, webhook_id: str, **changes: Any) -> WebhookView:
        """Change `name`, `url`, `events` or `enabled`."""
        return self.connection.read(WebhookView, "PATCH", f"{_PATH}/{webhook_id}", body=changes)

    def renew_secret(self, webhook_id: str) -> WebhookWithSecret:
        """Give it another secret; the one before signs nothing any more."""
        path = f"{_PATH}/{webhook_id}/secret"
        return self.connection.read(WebhookWithSecret, "POST", path)

    def test(self, webhook_id: str) -> DeliveryView:
        """Send a test; `deliveries` tells what became of it."""
        return self.connection.read(DeliveryView, "POST", f"{_PATH}/{webhook_id}/test")

    def delete(self, webhook_id: str) -> None:
        """Remove it with all its messages."""
        self.connection.send("DELETE", f"{_PATH}/{webhook_id}")

    def deliveries(self, webhook_id: str) -> Iterator[DeliveryView]:
        """Yield its messages, newest first."""
        return self.connection.pages(DeliveryView, f"{_PATH}/{webhook_id}/deliveries")

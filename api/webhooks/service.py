"""Webhooks are made, changed and removed; messages are made for them."""

import json
import secrets
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Final

from sqlalchemy.orm import Session

from api.audit.actions import Action
from api.audit.log import record
from api.settings import Settings
from api.store.views import view_of
from api.streams.service import existing_stream
from api.transactions import Writing
from api.web.problems import Refusal, invalid, not_found
from api.webhooks import repository
from api.webhooks.addresses import AddressRefused, checked_url
from api.webhooks.events import TEST
from api.webhooks.signing import new_secret
from api.webhooks.tables import PENDING, Webhook, WebhookDelivery
from cep.instants import iso_text
from contract.canonical import canonical_json
from contract.service.problems import Flaw
from contract.service.webhooks import (
    DeliveryView,
    NewWebhook,
    WebhookPatch,
    WebhookView,
    WebhookWithSecret,
)

MAXIMUM_WEBHOOKS: Final = 50


def existing_webhook(session: Session, webhook_id: str) -> Webhook:
    """Return a webhook.

    Raises:
        Refusal: there is none of this id (404).
    """
    found = repository.webhook_of(session, webhook_id)
    if found is None:
        raise not_found("webhook", webhook_id)
    return found


def create(writing: Writing, wanted: NewWebhook, settings: Settings) -> WebhookWithSecret:
    """Create a webhook and return it with its secret.

    Raises:
        Refusal: nothing can be sent to its URL (422), its stream is not there (404), or the name is
            taken, or there are too many (409).
    """
    _require_url(wanted.url, settings)
    if wanted.stream is not None:
        existing_stream(writing.session, wanted.stream)
    _require_free_name(writing.session, wanted.name)
    if repository.count_webhooks(writing.session) >= MAXIMUM_WEBHOOKS:
        detail = f"There are {MAXIMUM_WEBHOOKS} webhooks, which is the limit. Delete one."
        raise Refusal(HTTPStatus.CONFLICT, detail)
    webhook = Webhook(
        id=secrets.token_hex(8),
        name=wanted.name,
        url=wanted.url,
        secret=new_secret(),
        events=_names(wanted.events),
        stream=wanted.stream,
        enabled=True,
        created_at_ms=writing.now_ms,
        created_by=writing.actor,
    )
    writing.session.add(webhook)
    writing.session.flush()
    _record(writing, "webhook.create", webhook)
    return _with_secret(writing.session, webhook)


def change(
    writing: Writing, webhook: Webhook, patch: WebhookPatch, settings: Settings
) -> WebhookView:
    """Change a webhook.

    Raises:
        Refusal: nothing can be sent to its URL (422), or the name is taken (409).
    """
    if patch.url is not None:
        _require_url(patch.url, settings)
        webhook.url = patch.url
    if patch.name is not None and patch.name != webhook.name:
        _require_free_name(writing.session, patch.name)
        webhook.name = patch.name
    if patch.events is not None:
        webhook.events = _names(patch.events)
    if patch.enabled is not None:
        webhook.enabled = patch.enabled
    writing.session.flush()
    _record(writing, "webhook.change", webhook)
    return webhook_view(writing.session, webhook)


def renew_secret(writing: Writing, webhook: Webhook) -> WebhookWithSecret:
    """Give a webhook another secret, which signs every message from now on."""
    webhook.secret = new_secret()
    _record(writing, "webhook.secret", webhook)
    return _with_secret(writing.session, webhook)


def remove(writing: Writing, webhook: Webhook) -> None:
    """Remove a webhook and all messages to it."""
    _record(writing, "webhook.delete", webhook)
    writing.session.delete(webhook)


def send_test(writing: Writing, webhook: Webhook) -> WebhookDelivery:
    """Make a message that says that it is a test; it is sent at once.

    Raises:
        Refusal: the webhook is disabled (409).
    """
    if not webhook.enabled:
        raise Refusal(HTTPStatus.CONFLICT, "The webhook is disabled. Enable it first.")
    data = {"webhook": webhook.name, "by": writing.actor}
    message = new_message(writing.session, webhook, TEST, data, writing.now_ms)
    _record(writing, "webhook.test", webhook)
    return message


def new_message(
    session: Session, webhook: Webhook, event: str, data: dict[str, Any], now_ms: int
) -> WebhookDelivery:
    """Add a message to a webhook, which is to be sent at once."""
    body = canonical_json({"type": event, "timestamp": iso_text(now_ms), "data": data})
    delivery = WebhookDelivery(
        webhook_id=webhook.id,
        message_id=f"msg_{secrets.token_hex(16)}",
        event=event,
        body=body,
        state=PENDING,
        attempts=0,
        next_attempt_ms=now_ms,
        created_at_ms=now_ms,
    )
    session.add(delivery)
    session.flush()
    return delivery


def webhook_view(session: Session, webhook: Webhook) -> WebhookView:
    """Return a webhook without its secret."""
    (view,) = webhook_views(session, [webhook])
    return view


def webhook_views(session: Session, webhooks: Sequence[Webhook]) -> list[WebhookView]:
    """Return webhooks without their secrets."""
    pending = repository.counts_pending(session, [webhook.id for webhook in webhooks])
    return [
        view_of(WebhookView, each, events=json.loads(each.events), pending=pending[each.id])
        for each in webhooks
    ]


def delivery_view(delivery: WebhookDelivery) -> DeliveryView:
    """Return a message as it is answered."""
    next_ms = delivery.next_attempt_ms if delivery.state == PENDING else None
    return view_of(DeliveryView, delivery, next_attempt_at=next_ms)


def _names(events: list[Any]) -> str:
    return canonical_json(list(dict.fromkeys(events)))


def _with_secret(session: Session, webhook: Webhook) -> WebhookWithSecret:
    view = webhook_view(session, webhook)
    return WebhookWithSecret(**view.model_dump(), secret=webhook.secret)


def _require_url(url: str, settings: Settings) -> None:
    try:
        checked_url(url, allows_private=settings.webhook_private_addresses)
    except AddressRefused as refused:
        remedy = "Write it like https://alerts.example.com/percept."
        flaw = Flaw(pointer="/url", detail=str(refused), remedy=remedy)
        raise invalid("webhook", [flaw]) from None


def _require_free_name(session: Session, name: str) -> None:
    if repository.is_name_taken(session, name):
        raise Refusal(HTTPStatus.CONFLICT, f"A webhook named '{name}' already exists.")


def _record(writing: Writing, action: Action, webhook: Webhook) -> None:
    # Not its URL, which may hold what the receiver takes for a secret.
    record(writing, action, stream=webhook.stream, subject=f"{webhook.id} {webhook.name}")

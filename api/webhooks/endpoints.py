"""Webhooks are made, listed, changed, tested and removed; their messages are listed. For admins."""

from typing import Annotated

from fastapi import Path

from api.access.authentication import Admin
from api.routing import slice_router
from api.runtime import CurrentRuntime
from api.transactions import Read, Write
from api.web.paging import NEWEST, Cursor, Limit, cursor_behind, place_in
from api.web.problems import documented
from api.webhooks import repository, service
from contract.service.pages import Page
from contract.service.webhooks import (
    DeliveryView,
    NewWebhook,
    WebhookPatch,
    WebhookView,
    WebhookWithSecret,
)

router = slice_router("/v1/webhooks", "webhooks", for_confined=True)

IdInPath = Annotated[str, Path(pattern="^[0-9a-f]{16}$")]


@router.post("", status_code=201, responses=documented(404, 409))
def create_webhook(
    wanted: NewWebhook, _principal: Admin, write: Write, runtime: CurrentRuntime
) -> WebhookWithSecret:
    """Make a webhook; its secret is in this answer and in no other.

    It is told of what needs attention now, too.
    """
    write.answer_is_secret = True
    return service.create(write, wanted, runtime.settings)


@router.get("")
def list_webhooks(_principal: Admin, session: Read) -> list[WebhookView]:
    """Return all webhooks by name; there are 50 at most."""
    found = repository.all_webhooks(session)
    return service.webhook_views(session, found)


@router.get("/{webhook_id}", responses=documented(404))
def read_webhook(webhook_id: IdInPath, _principal: Admin, session: Read) -> WebhookView:
    """Return a webhook, without its secret."""
    return service.webhook_view(session, service.existing_webhook(session, webhook_id))


@router.patch("/{webhook_id}", responses=documented(404, 409))
def change_webhook(
    webhook_id: IdInPath,
    patch: WebhookPatch,
    _principal: Admin,
    write: Write,
    runtime: CurrentRuntime,
) -> WebhookView:
    """Change name, URL or events of a webhook, disable it, or enable it again."""
    webhook = service.existing_webhook(write.session, webhook_id)
    return service.change(write, webhook, patch, runtime.settings)


@router.delete("/{webhook_id}", status_code=204, responses=documented(404))
def delete_webhook(webhook_id: IdInPath, _principal: Admin, write: Write) -> None:
    """Remove a webhook and its messages, those that have not arrived, too."""
    service.remove(write, service.existing_webhook(write.session, webhook_id))


@router.post("/{webhook_id}/secret", responses=documented(404))
def renew_secret(webhook_id: IdInPath, _principal: Admin, write: Write) -> WebhookWithSecret:
    """Give a webhook another secret; the one before signs nothing any more."""
    write.answer_is_secret = True
    return service.renew_secret(write, service.existing_webhook(write.session, webhook_id))


@router.post("/{webhook_id}/test", status_code=202, responses=documented(404, 409))
def send_test_message(webhook_id: IdInPath, _principal: Admin, write: Write) -> DeliveryView:
    """Send a message of the event `webhook.test`; its delivery tells what became of it."""
    webhook = service.existing_webhook(write.session, webhook_id)
    return service.delivery_view(service.send_test(write, webhook))


@router.get("/{webhook_id}/deliveries", responses=documented(404))
def list_deliveries(
    webhook_id: IdInPath,
    _principal: Admin,
    session: Read,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[DeliveryView]:
    """List messages to a webhook, newest first; those that have ended are kept as settings say."""
    service.existing_webhook(session, webhook_id)
    below = place_in(cursor, NEWEST)
    found = repository.deliveries_below(session, webhook_id, below, limit + 1)
    more = cursor_behind(found, limit, lambda last: (last.number,))
    items = [service.delivery_view(each) for each in found[:limit]]
    return Page(items=items, next_cursor=more)

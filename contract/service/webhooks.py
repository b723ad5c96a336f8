"""Webhooks; their secrets are told once."""

from typing import Annotated, Final, Literal, get_args

from pydantic import Field

from cep.definition.document import StreamName
from cep.instants import Instant
from contract.service.bases import Answer, OrNewer, Request
from contract.service.names import GivenName

EventKind = Literal[
    "rule.quarantined", "rule.throttled", "job.stale", "discovery.failing", "approval.asked"
]
EVENT_KINDS: Final[tuple[EventKind, ...]] = get_args(EventKind)
DeliveryState = Literal["pending", "delivered", "failed"]

_Name = Annotated[GivenName, Field(description="For people; each has another.")]
_Url = Annotated[
    str, Field(min_length=1, max_length=2_000, description="https:// and where to; as it is sent.")
]
_Events = Annotated[
    list[EventKind], Field(min_length=1, max_length=20, description="What it is told of.")
]


class NewWebhook(Request):
    """A webhook to be created."""

    name: _Name
    url: _Url
    events: _Events
    stream: StreamName | None = Field(
        default=None, description="Only of this stream; left out = of all."
    )


class WebhookPatch(Request):
    """What changes of a webhook; what is left out stays."""

    name: _Name | None = None
    url: _Url | None = None
    events: _Events | None = None
    enabled: bool | None = Field(
        default=None, strict=True, description="Disabled, it is told of nothing; messages wait."
    )


class WebhookView(Answer):
    """A webhook without its secret."""

    id: str
    name: str
    url: str
    events: list[OrNewer[EventKind]]
    stream: str | None
    enabled: bool
    pending: int = Field(description="Messages that have not arrived yet and are tried again.")
    created_at: Instant
    created_by: str


class WebhookWithSecret(WebhookView):
    """A webhook whose secret is new: the only time that it is shown."""

    secret: str = Field(repr=False, description="What signs its messages; give it to the receiver.")


class DeliveryView(Answer):
    """One message to a webhook."""

    number: int
    message_id: str = Field(description="The header webhook-id: the same in every attempt.")
    event: str
    state: OrNewer[DeliveryState]
    attempts: int
    next_attempt_at: Instant | None = Field(description="While it is pending.")
    created_at: Instant
    ended_at: Instant | None
    status: int | None = Field(description="The newest answer; null = there was none.")
    error: str = Field(description="Why the newest attempt has failed.")
    body: str = Field(description="The JSON that is sent, byte for byte what is signed.")

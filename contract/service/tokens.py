"""Tokens: what they may do, made, told."""

from enum import StrEnum
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from cep.definition.document import StreamName
from cep.instants import GivenInstant, Instant
from contract.service.bases import Answer, OrNewer, Request
from contract.service.names import GivenName

MOST_STREAMS: Final = 100


class Role(StrEnum):
    """What a token may do."""

    VIEWER = "viewer"
    AUTHOR = "author"
    PUBLISHER = "publisher"
    ADMIN = "admin"
    JOB = "job"


def _sorted(names: list[str]) -> list[str]:
    return sorted(set(names))


StreamNames = Annotated[
    list[StreamName], Field(min_length=1, max_length=MOST_STREAMS), AfterValidator(_sorted)
]


class TokenDocument(Request):
    """A token to be created."""

    name: GivenName = Field(description="Who or what will use it.")
    role: Role
    person: GivenName | None = Field(
        default=None,
        description="Whose it is, the same in all tokens of one person; without it, it cannot "
        "approve proposals.",
    )
    expires_at: GivenInstant | None = Field(default=None, description="Left out = never.")
    streams: StreamNames | None = Field(
        default=None,
        description="The only streams it reads and writes, by their exact names, whether they are "
        "registered yet or not; left out = all streams.",
    )


class TokenView(Answer):
    """A token without its text."""

    id: str
    name: str
    role: OrNewer[Role]
    person: str = Field(description="Whose it is; empty = not said.")
    created_at: Instant
    created_by: str
    expires_at: Instant | None
    revoked_at: Instant | None
    streams: list[str] | None = Field(description="Those it is confined to; null = all.")


class NewToken(TokenView):
    """A newly created token: the only time its text is shown."""

    token: str = Field(repr=False, description="The text to send; it is stored nowhere.")

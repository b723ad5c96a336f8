"""The documents of tokens."""

from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from api.access.authentication import Role
from api.web.names import GivenName
from cep.definition.document import StreamName
from cep.instants import GivenInstant, Instant

MOST_STREAMS: Final = 100


def _sorted(names: list[str]) -> list[str]:
    return sorted(set(names))


StreamNames = Annotated[
    list[StreamName], Field(min_length=1, max_length=MOST_STREAMS), AfterValidator(_sorted)
]


class TokenDocument(BaseModel):
    """A token to be created."""

    model_config = ConfigDict(extra="forbid")

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


class TokenView(BaseModel):
    """A token without its text."""

    id: str
    name: str
    role: Role
    person: str = Field(description="Whose it is; empty = not said.")
    created_at: Instant
    created_by: str
    expires_at: Instant | None
    revoked_at: Instant | None
    streams: list[str] | None = Field(description="Those it is confined to; null = all.")


class NewToken(TokenView):
    """A newly created token: the only time its text is shown."""

    token: str = Field(description="The text to send; it is stored nowhere.")

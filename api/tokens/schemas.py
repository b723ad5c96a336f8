"""The documents of tokens."""

from pydantic import BaseModel, ConfigDict, Field

from api.access.authentication import Role
from cep.instants import GivenInstant, Instant


class TokenDocument(BaseModel):
    """A token to be created."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"name": "ci", "role": "publisher"}]}
    )

    name: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._@-]{0,99}$", description="Who or what will use it."
    )
    role: Role
    expires_at: GivenInstant | None = Field(default=None, description="Left out = never.")


class TokenView(BaseModel):
    """A token without its text."""

    id: str
    name: str
    role: Role
    created_at: Instant
    created_by: str
    expires_at: Instant | None
    revoked_at: Instant | None


class NewToken(TokenView):
    """A newly created token: the only time its text is shown."""

    token: str = Field(description="The text to send; it is stored nowhere.")

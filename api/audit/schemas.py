"""The responses of the change log."""

from pydantic import BaseModel, Field

from cep.instants import Instant


class ChangeView(BaseModel):
    """One change."""

    id: int
    at: Instant
    actor: str = Field(description="The name of the token that made it; several may have it.")
    actor_id: str = Field(description="The id of that token; empty = the command line.")
    action: str = Field(description="What was done, such as `processor.publish`.")
    stream: str | None
    epoch: int | None = Field(description="The epoch it made, if it changed what runs.")
    processor_id: str | None
    old_version: int | None
    new_version: int | None
    subject: str = Field(description="What else was changed, such as the id of a token.")
    comment: str
    request_id: str

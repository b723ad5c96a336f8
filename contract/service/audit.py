"""The log of changes."""

from pydantic import Field, JsonValue

from cep.instants import Instant
from contract.service.bases import Answer


class FailurePlace(Answer):
    """Where in the events a version failed."""

    key: list[str | int | float | bool | None] = Field(
        description="The values of `key_by`, in its order."
    )
    time: Instant | None = Field(description="Event time of the failure.")
    event: dict[str, JsonValue] | None = Field(
        description="The event at which it failed; what exceeds 4 kB is left out of it. Null = "
        "it failed at none."
    )


class ChangeView(Answer):
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
    failed_at: FailurePlace | None = Field(
        description="Of `processor.quarantine`: where the version failed, for the newest 20 of a "
        "rule and if the job tells events. Null = not told."
    )

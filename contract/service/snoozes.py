"""Snoozes: matches of a rule that go to nobody for a while."""

from typing import Annotated

from pydantic import Field

from cep.definition.alert_document import Duration
from cep.instants import GivenInstant, Instant
from contract.service.bases import Answer, Request

KEY_CHARACTERS = 1_000
SnoozedKey = Annotated[
    str,
    Field(
        max_length=KEY_CHARACTERS,
        description="The key as lists of matches have it: the values of `key_by`, with ', ' in "
        "between.",
    ),
]


class NewSnooze(Request):
    """What is snoozed, and until when: `until` or `for`, one of them."""

    key: SnoozedKey | None = Field(default=None, description="Left out = all keys.")
    until: GivenInstant | None = Field(
        default=None, description="First event time that it is not for."
    )
    for_time: Duration | None = Field(
        default=None, alias="for", description="From now on: '1 hour', or milliseconds."
    )


class SnoozeView(Answer):
    """Matches of one rule, for one key or all, that go to nobody until an event time."""

    number: int
    processor_id: str
    stream: str
    key: str | None = Field(description="Null = all keys.")
    until: Instant = Field(description="First event time that it is not for.")
    is_over: bool = Field(description="Whether that time has passed, by the clock of the service.")
    created_at: Instant
    created_by: str
    comment: str


class Snoozes(Answer):
    """All snoozes of a rule or a stream, by rule and key; at most 500."""

    items: list[SnoozeView]

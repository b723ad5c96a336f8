"""Keys that people ask about, and what a job tells of them: its open partial matches.

    service ──answer to a heartbeat: AskedKey──► job ──next batch──► KeyAnswers ──► service

A job that knows nothing of this is asked in vain; it reports what it always did.
"""

from typing import Annotated, Final

from pydantic import Field

from cep.definition.document import ProcessorId
from contract.report_values import (
    Count,
    ErrorText,
    EventTimeMs,
    InstanceId,
    Report,
    ShortText,
    Version,
)

KEYS_ASKED: Final = 20
"""How many keys of a stream are asked about at a time."""
PARTIAL_MATCHES_TOLD: Final = 10
"""How many partial matches of a key are told of one by one."""
STEPS_TOLD: Final = 100

KeyValues = Annotated[
    list[str | int | float | bool | None],
    Field(max_length=20, description="The values of `key_by`, in its order, as matches have them."),
]
AskedId = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]


class AskedKey(Report):
    """A key of a rule that somebody asks about."""

    id: AskedId
    processor_id: ProcessorId
    key: KeyValues


class TakenStep(Report):
    """The events that a partial match has taken for one step, or variable."""

    name: ShortText
    count: Count
    first_ms: EventTimeMs = Field(description="Event time of the first of them.")
    last_ms: EventTimeMs


class OpenPartialMatch(Report):
    """A partial match as it was after a batch."""

    version: Version
    steps: list[TakenStep] = Field(
        max_length=STEPS_TOLD, description="In the order of their first events."
    )
    started_ms: EventTimeMs
    last_ms: EventTimeMs = Field(description="Event time of its newest event.")
    expires_ms: EventTimeMs | None = Field(
        default=None, description="The event time at which its window closes; null = it has none."
    )
    awaited: list[ShortText] = Field(
        default=[],
        max_length=STEPS_TOLD,
        description="The steps it can take next; none = it is a match when its window closes.",
    )
    forbidden: list[ShortText] = Field(
        default=[], max_length=STEPS_TOLD, description="An event of one of these ends it."
    )


class KeyAnswer(Report):
    """What a job holds for a key."""

    id: AskedId = Field(description="Of the key that was asked about.")
    batch_id: Count = Field(description="After this batch.")
    watermark_ms: EventTimeMs | None = Field(
        default=None, description="Events up to this time are in it."
    )
    open: Count = Field(default=0, description="How many partial matches are open.")
    held_back: Count = Field(
        default=0,
        description="How many matches are complete and wait for a partial match that began before.",
    )
    partial_matches: list[OpenPartialMatch] = Field(
        default=[],
        max_length=PARTIAL_MATCHES_TOLD,
        description="Those that have come farthest, the newest version first.",
    )
    problem: ErrorText = Field(default="", description="Why the job cannot tell.")


class KeyAnswers(Report):
    """Answers of a job, after one batch."""

    instance_id: InstanceId
    answers: list[KeyAnswer] = Field(max_length=KEYS_ASKED)


class KeyAnswersReceipt(Report):
    """The service has taken answers."""

    taken: int = Field(description="How many are about keys that are still asked about.")

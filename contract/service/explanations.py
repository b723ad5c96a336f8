"""Why a rule found no match for one key in a span of the past: the question and its answer."""

from typing import Annotated, Any

from pydantic import Field, model_validator

from cep.instants import GivenInstant, Instant
from cep.trials.reports import MOST_ATTEMPTS, SpanReport
from contract.service.backtests import BacktestState, Version
from contract.service.bases import Answer, OrNewer, Request
from contract.service.diagnosis import LONGEST_KEY


class ExplanationRequest(Request):
    """What to tell of: a key of a rule, and a span of event time."""

    key: str = Field(
        default="",
        max_length=LONGEST_KEY,
        description="The key: the value of its one column, or a JSON array of several such as "
        '["eve", 7]. Left out for a rule without `key_by`.',
    )
    since: GivenInstant = Field(description="The beginning of the span.")
    until: GivenInstant = Field(description="Its end, exclusive.")
    version: Version | None = Field(
        default=None, description="Which version of the rule; left out = the current one."
    )
    attempts: Annotated[int, Field(strict=True, ge=1, le=MOST_ATTEMPTS)] = Field(
        default=3, description="How many attempts are told, those that came farthest first."
    )

    @model_validator(mode="after")
    def _has_a_span(self) -> "ExplanationRequest":
        if self.since >= self.until:
            raise ValueError("`until` does not come after `since`")
        return self


class ExplanationLine(Answer):
    """A line of the report in words."""

    text: str
    style: str = Field(
        description="What it tells: bold = a heading, green = events that were taken, red = what "
        "ended it, yellow = what was missing; else empty."
    )


class ExplanationView(Answer):
    """Why a rule found no match for a key in a span; without `report` until a worker has told."""

    number: int
    processor_id: str
    stream: str
    version: int
    key: list[Any]
    since: Instant
    until: Instant
    state: OrNewer[BacktestState]
    created_at: Instant
    created_by: str
    ended_at: Instant | None
    worker: str = Field(description="Which answers it, or has answered it.")
    error: str = Field(description="Why there is no answer, if it failed.")
    report: SpanReport | None
    not_regarded: list[str] = Field(
        description="What may hold matches of the rule back, of which the report does not tell: "
        "snoozes, and what its `alert` says."
    )
    lines: list[ExplanationLine] = Field(description="The report in words.")

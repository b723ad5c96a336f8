"""The requests and answers about drafts."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from api.web.problems import Flaw
from cep.instants import Instant

MAXIMUM_EVENTS = 2_000

TextFormat = Literal["yaml", "json"]
Text = Annotated[str, Field(max_length=100_000, description="The draft, as it was typed.")]
StepEvents = Annotated[
    dict[str, list[int]], Field(description="Positions of the events it took, by step.")
]


class Draft(BaseModel):
    """The text of a processor."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "text": "id: any-failure\nstream: logins\n"
                    "pattern:\n  steps:\n    - {name: fail, where: action = 'fail'}\n",
                    "format": "yaml",
                }
            ]
        },
    )

    text: Text
    format: TextFormat = "yaml"


class Trial(Draft):
    """A draft, and events to try it on."""

    events: list[dict[str, Any]] = Field(
        max_length=MAXIMUM_EVENTS, description="In any order; sorted by event time."
    )
    let_time_pass: bool = Field(
        default=False, description="After the last event, advance time until all windows close."
    )


class Rewriting(BaseModel):
    """A document to be written as text."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"document": {"id": "any-failure"}, "format": "yaml"}]},
    )

    document: dict[str, Any]
    format: TextFormat = "yaml"


class Rewritten(BaseModel):
    """A document as text."""

    text: str


class DraftProblem(Flaw):
    """A problem or warning of a draft; `line` and `column` are those of its text."""

    severity: Literal["error", "warning"]
    length: int | None = Field(
        default=None, description="How many characters are wrong from there on, if known."
    )


class DraftReport(BaseModel):
    """The content of a draft, and its problems."""

    document: dict[str, Any] | None = Field(description="Null = it cannot be read.")
    problems: list[DraftProblem] = Field(description="In the order of the lines.")


class SampleEvents(BaseModel):
    """Generated events that might match, as a start for trying out."""

    events: list[dict[str, Any]]


class TriedMatch(BaseModel):
    """A match in a trial."""

    key: list[Any]
    steps: StepEvents
    start: Instant = Field(description="Event time of its first event.")
    at: Instant = Field(description="Event time at which it was found.")
    output: dict[str, Any] | None = Field(description="What `select` gives; null without one.")


class TriedPartialMatch(BaseModel):
    """A partial match that was not completed: how far it got, and what ended it."""

    key: list[Any]
    steps: StepEvents
    start: Instant
    outcome: Literal["timed_out", "forbidden", "broken", "skipped", "open"] = Field(
        description="timed_out = its window closed; forbidden = an event came that must not; "
        "broken = an event that did not fit stood where nothing may; skipped = dropped by a match, "
        "as after_match_skip says; open = still waiting after the last event."
    )
    ended_at: Instant | None = Field(description="Event time at which it ended; null = open.")
    ended_by: int | None = Field(description="Position of the event that ended it, if one did.")
    awaited: list[str] = Field(description="The steps it was waiting for.")
    forbidden: list[str] = Field(description="The steps whose events must not come meanwhile.")


class TrialReport(BaseModel):
    """What a draft finds in events. Events are named by their position in the request."""

    times: list[Instant] = Field(description="The event time of each event.")
    fits: StepEvents = Field(
        description="By step the events that meet the part of its condition on the event alone."
    )
    matches: list[TriedMatch]
    partial_matches: list[TriedPartialMatch] = Field(description="Those that came farthest first.")
    left_out: int = Field(description="How many more were found than are listed.")
    unknown_fields: list[str] = Field(description="Fields of events that are no column.")

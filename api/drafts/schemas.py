"""The requests and answers about drafts."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from api.web.problems import Flaw

MAXIMUM_EVENTS = 2_000
MAXIMUM_CHARACTERS = 100_000

TextFormat = Literal["yaml", "json"]
Text = Annotated[
    str, Field(max_length=MAXIMUM_CHARACTERS, description="The draft, as it was typed.")
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

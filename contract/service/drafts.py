"""Drafts: read, tried, written as text."""

from typing import Annotated, Any, Literal

from pydantic import Field

from contract.service.bases import Answer, OrNewer, Request
from contract.service.problems import Flaw

MAXIMUM_EVENTS = 2_000
MAXIMUM_CHARACTERS = 100_000
TextFormat = Literal["yaml", "json"]
Text = Annotated[
    str, Field(max_length=MAXIMUM_CHARACTERS, description="The draft, as it was typed.")
]


class Draft(Request):
    """The text of a processor."""

    text: Text
    format: TextFormat = "yaml"


class Trial(Draft):
    """A draft, and events to try it on."""

    events: list[dict[str, Any]] = Field(
        max_length=MAXIMUM_EVENTS, description="In any order; sorted by event time."
    )
    let_time_pass: bool = Field(
        default=False,
        strict=True,
        description="After the last event, advance time until all windows close.",
    )


class Rewriting(Request):
    """A document to be written as text."""

    document: dict[str, Any]
    format: TextFormat = "yaml"
    code: Literal["whole", "readable"] = Field(
        default="whole",
        description="Python code as it travels, or for people: its source text, and the length "
        "and SHA-256 of what was pickled. Such a text cannot be published.",
    )


class Rewritten(Answer):
    """A document as text."""

    text: str


class RowPattern(Request):
    """A clause of MATCH_RECOGNIZE that is to be drawn."""

    match_recognize: str = Field(
        max_length=MAXIMUM_CHARACTERS, description="The clause, or a query with one."
    )


class RowPatternDrawing(Answer):
    """What is drawn of a clause, so that a browser needs no parser."""

    pattern: dict[str, Any] = Field(
        description="A tree; `kind` is variable, sequence, alternation, permutation, exclusion, "
        "repetition, partition_start or partition_end."
    )
    within: str = Field(description="A duration in words, empty without one.")
    skip: dict[str, str] = Field(description="Where the search goes on: `to`, `variable`.")
    output: str = Field(description="What a match outputs.")
    measures: list[dict[str, str]] = Field(description="Columns: `name`, `expression`.")
    subsets: list[dict[str, Any]] = Field(description="Union variables: `name`, `members`.")
    text: str = Field(description="The clause in its normalised layout.")


class DraftProblem(Flaw):
    """A problem or warning of a draft; `line` and `column` are those of its text."""

    severity: OrNewer[Literal["error", "warning"]]
    length: int | None = Field(
        default=None, description="How many characters are wrong from there on, if known."
    )


class DraftReport(Answer):
    """The content of a draft, and its problems."""

    document: dict[str, Any] | None = Field(description="Null = it cannot be read.")
    problems: list[DraftProblem] = Field(description="In the order of the lines.")

"""Triage of matches: what is decided about them, and counted."""

from typing import Annotated, Any, Final, Self

from pydantic import Field, StringConstraints, model_validator

from cep.instants import Instant
from contract.report_values import Count
from contract.reports import MatchKind
from contract.service.bases import Answer, OrNewer, Request
from contract.service.matches import Assignee, TriageStatus, TriageSummary

MOST_AT_ONCE: Final = 500
MOST_NOTES: Final = 200
NOTE_CHARACTERS: Final = 4_000
NoteText = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=NOTE_CHARACTERS),
    Field(description="Plain text; a note is never changed."),
]


class TriageChange(Request):
    """What to change; what is left out stays."""

    status: TriageStatus | None = None
    assignee: Assignee | None = None
    note: NoteText | None = Field(default=None, description="A note to be added.")

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.status is None and self.assignee is None and self.note is None:
            raise ValueError("nothing to change; give status, assignee or note")
        return self


class SelectedMatch(Request):
    """One match to be changed, and the state in which it was seen."""

    match_id: str = Field(pattern=r"^[A-Za-z0-9_-]{16,128}$")
    revision: Count | None = Field(
        default=None, description="The revision that was seen; left out = whatever it is now."
    )


class BulkChange(TriageChange):
    """What to change of many matches: of those that are listed, or of those that meet a filter."""

    matches: list[SelectedMatch] | None = Field(
        default=None,
        min_length=1,
        max_length=MOST_AT_ONCE,
        description="These: all of them or none. Left out = those that meet the filter.",
    )
    up_to: Count | None = Field(
        default=None,
        description="With a filter: none with a higher `number`, so that matches which have come "
        "since the list was read stay as they are.",
    )


class TriageResult(Answer):
    """How many matches a change of many has changed."""

    changed: int
    unchanged: int = Field(description="They were already so.")
    next_cursor: str | None = Field(
        default=None, description="Null = there are no more that meet the filter."
    )


class TriageView(TriageSummary):
    """The triage of one match, and what a label says of the match itself."""

    match_id: str
    stream: str
    job: str
    kind: OrNewer[MatchKind]
    processor_id: str
    version: int
    key: list[Any]
    start: Instant
    end: Instant


class NoteDocument(Request):
    """A note to be added."""

    text: NoteText


class NoteView(Answer):
    """One note on a match."""

    number: int = Field(description="Counts up within the match.")
    at: Instant
    author: str = Field(description="The name of the token that added it.")
    author_id: str = Field(description="The id of that token.")
    text: str


class TriageCounts(Answer):
    """How many matches of a rule have which status.

    Matches that have been removed count as long as their triage is kept, unless they are open.
    """

    open: int = 0
    acknowledged: int = 0
    false_positive: int = 0
    resolved: int = 0
    false_positive_rate: float | None = Field(
        default=None,
        description="false_positive / (acknowledged + false_positive + resolved); open matches do "
        "not count. Null = none of them has been looked at.",
    )


class RuleTriage(TriageCounts):
    """The counts of one rule."""

    processor_id: str


class AssigneeCount(Answer):
    """How many matches of a stream are assigned to a name."""

    value: str
    count: int

"""The answers of the service about matches and their triage as models."""

from typing import Any

from pydantic import Field

from api.client.views import View
from cep.instants import Instant


class Triage(View):
    """What people have made of a match: open, acknowledged, false_positive or resolved."""

    status: str
    assignee: str = Field(description="Empty = nobody.")
    revision: int
    decided_at: Instant | None
    decided_by: str
    note_count: int

    @property
    def etag(self) -> str:
        """The state this was read in, for `if_match`."""
        return str(self.revision)


class MatchTriage(Triage):
    """The triage of one match, and which match it is."""

    match_id: str
    stream: str
    job: str
    kind: str
    processor_id: str
    version: int
    key: list[Any]
    start: Instant
    end: Instant


class StandsFor(View):
    """What a match stands for: the matches of its group; times are milliseconds."""

    matches: int = Field(description="How many they are, this one included.")
    keys: int
    keys_are_estimated: bool
    group: dict[str, Any] = Field(description="The output columns they have in common.")
    is_rest: bool = Field(description="Whether these are all groups that had no own place.")
    since: Instant
    until: Instant


class MatchLine(View):
    """One line of a list of matches; times are milliseconds."""

    number: int = Field(description="Counts up within the stream, in order of arrival.")
    match_id: str
    stream: str
    job: str
    kind: str
    processor_id: str
    version: int
    epoch: int
    key: list[Any]
    start: Instant
    end: Instant
    received_at: Instant
    output: Any
    event_count: int
    group_id: str = Field(default="", description="Empty = it is in no group.")
    stands_for: StandsFor | None = Field(
        default=None, description="`None` = for itself alone, or that is not known yet."
    )
    triage: Triage


class Match(MatchLine):
    """One match with its events, by step."""

    events: dict[str, list[dict[str, Any]]]


class TriageResult(View):
    """How many matches a change of many has changed."""

    changed: int
    unchanged: int
    next_cursor: str | None = None


class Note(View):
    """One note on a match."""

    number: int
    at: Instant
    author: str
    author_id: str
    text: str


class RuleTriage(View):
    """How many matches of a rule have which status, and the rate of false positives."""

    processor_id: str
    open: int
    acknowledged: int
    false_positive: int
    resolved: int
    false_positive_rate: float | None


class Label(View):
    """What was decided about one match; times are milliseconds."""

    match_id: str
    rule: str
    version: int
    kind: str
    key: list[Any]
    start: Instant
    end: Instant
    label: str
    labelled_at: Instant

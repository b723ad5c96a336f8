"""Matches, as lists and alone."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from cep.instants import Instant
from contract.reports import MatchKind
from contract.service.bases import Answer, OrNewer
from contract.service.pages import Page

OPEN: Final = "open"
TriageStatus = Literal["open", "acknowledged", "false_positive", "resolved"]
Assignee = Annotated[
    str,
    Field(
        max_length=100,
        pattern=r"^([^\x00-\x20\x7f]([^\x00-\x1f\x7f]*[^\x00-\x20\x7f])?)?$",
        description="Who looks into it, such as the name of a token; empty = nobody.",
        examples=["ana"],
    ),
]


class TriageSummary(Answer):
    """What people have made of one match; one that nobody has touched is open, revision 0."""

    status: OrNewer[TriageStatus] = OPEN
    assignee: str = Field(default="", description="Empty = nobody.")
    revision: int = Field(
        default=0, description="Changes with status and assignee: the ETag of `…/triage`."
    )
    decided_at: Instant | None = Field(
        default=None, description="When status or assignee was last changed."
    )
    decided_by: str = Field(default="", description="By whom: the name of a token.")
    note_count: int = 0

    @property
    def etag(self) -> str:
        """The state this was read in, for `if_match`."""
        return str(self.revision)


class StandsFor(Answer):
    """What a match stands for: the matches of its group, of a window of event time."""

    matches: int = Field(description="How many they are, this one included.")
    keys: int = Field(description="Of how many keys they are.")
    keys_are_estimated: bool = Field(description="Whether `keys` is not exact: above 499.")
    group: dict[str, Any] = Field(description="The output columns they have in common.")
    is_rest: bool = Field(
        description="Whether these are all groups that had no place of their own."
    )
    since: Instant = Field(description="Event time at which the window begins.")
    until: Instant = Field(description="Event time at which it ends.")


class MatchSummary(Answer):
    """One line of a list of matches."""

    number: int = Field(description="Counts up within the stream, in order of arrival.")
    match_id: str
    stream: str
    job: str
    kind: OrNewer[MatchKind]
    processor_id: str
    version: int
    epoch: int
    key: list[Any]
    start: Instant = Field(description="Event time of the first event.")
    end: Instant = Field(description="Event time at which it was found, or timed out.")
    received_at: Instant
    output: Any
    event_count: int
    group_id: str = Field(
        description="The group it is in, if its rule makes one alert of several; empty = none."
    )
    stands_for: StandsFor | None = Field(
        description="What its group was, once the window is over; null = it went out for itself "
        "alone, did not go out, or it is not known yet."
    )
    triage: TriageSummary


class MatchesPage(Page[MatchSummary]):
    """Some matches of a stream, and up to where changes of their triage are told."""

    newest: int = Field(
        description="The newest number of the stream, whatever the filter; listen from here on."
    )
    newest_change: int = Field(
        description="Likewise, the newest change of triage, or of what matches stand for."
    )


class ValueCount(Answer):
    """How many matches have a value."""

    value: str
    count: int


class MatchesSummary(Answer):
    """How many matches meet a filter, when they ended, and of which rules and keys they are."""

    total: int
    first: Instant | None = Field(description="Event time of the earliest end; null = no match.")
    last: Instant | None = Field(description="Event time of the latest end.")
    bucket_ms: int = Field(description="How long a bucket is; 0 = there are none.")
    times: list[Instant] = Field(description="The start of each bucket, at most 61, in order.")
    counts: list[int] = Field(description="How many ended in each bucket.")
    processors: list[ValueCount] = Field(description="The ten rules with the most, most first.")
    keys: list[ValueCount] = Field(description="Likewise, keys, written as for `key`.")
    is_partial: bool = Field(
        description="Whether only the newest were counted, as there are very many."
    )


class MatchView(MatchSummary):
    """One match with its events."""

    events: dict[str, list[dict[str, Any]]] = Field(description="By step, as the job sent them.")

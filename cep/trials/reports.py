"""What a worker answers about a rule and events; clients get it as it is."""

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, Field

from cep.instants import Instant

MOST_ATTEMPTS: Final = 50
"""So many attempts a report tells of at most."""
StepEvents = Annotated[
    dict[str, list[int]], Field(description="Positions of the events it took, by step.")
]


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


class FoundMatch(BaseModel):
    """A match by its events."""

    steps: StepEvents
    start: Instant = Field(description="Event time of its first event.")
    at: Instant = Field(description="Event time at which it was found.")
    counts: dict[str, int] = Field(
        default={}, description="How many events it took of a step where `steps` leaves some out."
    )


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


class UnmetPart(BaseModel):
    """A part of a condition that an event did not meet."""

    text: str = Field(description="The part, as its author wrote it.")
    values: dict[str, Any] = Field(description="What it read: columns, and values over events.")


class NearestEvent(BaseModel):
    """The event that came nearest to a step that a partial match was waiting for."""

    step: str
    position: int
    at: Instant
    is_too_late: bool = Field(description="It fits, but came after the window had closed.")
    unmet: list[UnmetPart] = Field(description="What it did not meet; empty if it is too late.")


class FarthestPartialMatch(TriedPartialMatch):
    """A partial match, and the events that came nearest to going on with it."""

    nearest: list[NearestEvent]


class KeyReport(BaseModel):
    """How far a rule came with the events of one key."""

    key: list[Any]
    event_count: int
    match_count: int
    partial_matches: list[FarthestPartialMatch] = Field(description="Farthest first.")
    left_out: int = Field(description="How many more partial matches there were.")
    nearest_start: NearestEvent | None = Field(
        description="Where nothing began: the event nearest to the first step."
    )


class WhyReport(BaseModel):
    """Why a rule has found nothing, or no more, in events."""

    event_count: int
    key_count: int
    match_count: int
    fits: dict[str, int] = Field(
        description="By step how many events meet the part of its condition on the event alone."
    )
    conditions: dict[str, str] = Field(description="The condition of each step, as text.")
    columns: list[str] = Field(description="The columns that conditions read.")
    keys: list[KeyReport] = Field(
        description="Keys without a match first, then those that came farthest."
    )
    left_out: int = Field(description="How many more keys there are than are listed.")
    errors: list[str] = Field(description="Keys that could not be matched, and why; the first.")
    error_count: int


class Attempt(FarthestPartialMatch):
    """A partial match in a span of time; of many events of a step the first and last are named."""

    counts: dict[str, int] = Field(description="How many events it took, by step.")


class ToldEvent(BaseModel):
    """An event that is named; long values are cut, and what no condition reads may be left out."""

    at: Instant
    columns: dict[str, Any]


class SpanReport(BaseModel):
    """Why a rule has found nothing, or no more, for one key in a span of time.

    Events are named by position among those of the key that were looked at.
    """

    key: list[Any]
    since: Instant
    until: Instant = Field(description="Exclusive.")
    begun_at: Instant | None = Field(
        description="The first event that was looked at: what began before `since` counts, too."
    )
    ended_at: Instant = Field(
        description="Time has passed to here: windows that closed until then are over."
    )
    is_exact: bool = Field(
        description="False = events before `begun_at` were left out, as there are too many; "
        "partial matches and matches that began there might have changed what was found."
    )
    read: int = Field(description="How many events were read, of all keys.")
    unusable: int = Field(description="How many could not be read, or had no time or key.")
    why_unusable: str = Field(default="", description="Why the first of these could not be.")
    event_count: int = Field(description="How many events of the key are in the span.")
    fits: dict[str, int] = Field(
        description="By step how many of these meet the part of its condition on the event alone."
    )
    conditions: dict[str, str] = Field(description="The condition of each step, as text.")
    columns: list[str] = Field(description="The columns that conditions read.")
    match_count: int
    matches: list[FoundMatch] = Field(description="The first ones.")
    attempts: list[Attempt] = Field(
        description="Partial matches that did not become matches, those that came farthest first."
    )
    left_out: int = Field(description="How many more of them there were.")
    nearest_start: NearestEvent | None = Field(
        description="Where nothing began: the event nearest to the first step."
    )
    events: dict[int, ToldEvent] = Field(description="The events that are named, by position.")

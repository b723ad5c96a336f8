"""The requests and answers about matches."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Query
from pydantic import BaseModel, Field

from api.processors.schemas import SearchText
from cep.definition.document import ProcessorId
from cep.instants import Instant
from contract.reports import JobName, MatchKind

KeyText = Annotated[str, Field(max_length=500, pattern=r"^[^\x00]*$")]


@dataclass(frozen=True, slots=True)
class MatchFilter:
    """Which matches are wanted; `None` = any."""

    processor: Annotated[ProcessorId | None, Query(description="Of this processor.")] = None
    version: Annotated[int | None, Query(ge=1, lt=2**31, description="Of this version.")] = None
    job: Annotated[JobName | None, Query(description="Found by this job.")] = None
    kind: Annotated[
        MatchKind | None, Query(description="Matches, or timeouts; shadows only if named.")
    ] = None
    key: Annotated[
        KeyText | None,
        Query(description="Of this key; its values are joined by a comma and a space."),
    ] = None
    since: Annotated[Instant | None, Query(description="Ended at this event time or later.")] = None
    until: Annotated[Instant | None, Query(description="Ended before this event time.")] = None
    text: Annotated[SearchText | None, Query(description="With this text in the output.")] = None


class MatchSummary(BaseModel):
    """One line of a list of matches."""

    number: int = Field(description="Counts up within the stream, in order of arrival.")
    match_id: str
    stream: str
    job: str
    kind: MatchKind
    processor_id: str
    version: int
    epoch: int
    key: list[Any]
    start: Instant = Field(description="Event time of the first event.")
    end: Instant = Field(description="Event time at which it was found, or timed out.")
    received_at: Instant
    output: Any
    event_count: int


class MatchView(MatchSummary):
    """One match with its events."""

    events: dict[str, list[dict[str, Any]]] = Field(description="By step, as the job sent them.")

"""Rollouts: a version that is tried beside what is published."""

from typing import Annotated

from pydantic import Field

from cep.instants import Instant
from contract.reports import RunningState
from contract.service.bases import Answer, OrNewer, Request

SharePercent = Annotated[
    float,
    Field(
        ge=0,
        lt=100,
        multiple_of=0.01,
        description="For which share of the keys the finds of the tried version count; 0 = it only "
        "runs in shadow. Whatever the share, a key that is in it is in every greater one.",
        examples=[5],
    ),
]


class ShareChange(Request):
    """Another share of the keys."""

    share_percent: SharePercent


class ComparedMatch(Answer):
    """A match that only one of two versions has found."""

    match_id: str
    key_text: str
    start: Instant
    end: Instant


class RolloutInJob(Answer):
    """How the tried version does in one job, beside what is published.

    Compared are the matches that reached the service and began when both versions ran; the counters
    are the job's own, and complete.
    """

    job: str
    state: OrNewer[RunningState]
    active_from: Instant | None = Field(description="The event time from which it runs.")
    events: int = Field(
        description="What the job has read since the first whole minute of the trial, as far as "
        "its history is kept."
    )
    finds: int = Field(description="Matches that it has found, whether they count or not.")
    counted: int = Field(description="How many of them count.")
    partial_matches: int
    errors: int
    error: str
    both: int = Field(description="Matches that both versions have found.")
    gained: int = Field(description="Matches that only the tried version has found.")
    lost: int = Field(description="Matches that only the published version has found.")
    is_complete: bool = Field(description="Whether all of them are compared; the first 20,000 are.")
    newest_gained: list[ComparedMatch]
    newest_lost: list[ComparedMatch]


class RolloutView(Answer):
    """A version that is tried beside what is published."""

    processor_id: str
    stream: str
    version: int
    published_versions: list[int] = Field(description="What it is tried beside; none = nothing.")
    share_percent: float
    created_at: Instant
    created_by: str
    jobs: list[RolloutInJob] = Field(description="By job, those that have reported of it.")

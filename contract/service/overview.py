"""The overview of all streams."""

from typing import Literal

from pydantic import Field

from cep.instants import Instant
from contract.service.bases import Answer, OrNewer
from contract.service.jobs import History, JobView
from contract.service.processors import State

Urgency = Literal["bad", "warn", "info"]
Concern = Literal[
    "job_stale",
    "quarantined",
    "no_job",
    "epoch_behind",
    "watermark_behind",
    "watermark_ahead",
    "backlog",
    "batch_hangs",
    "discovery_failing",
    "rules_unreadable",
    "output_failing",
    "webhook_failing",
    "starts_soon",
    "ends_soon",
]


class AttentionItem(Answer):
    """One item to check: a problem, or a change that is about to happen."""

    concern: OrNewer[Concern]
    urgency: OrNewer[Urgency] = Field(
        description="bad = rules do not run; warn = late; info = planned."
    )
    stream: str | None = Field(description="Null = of all streams.")
    job: str | None = Field(default=None, description="The name of the job.")
    processor_id: str | None = None
    version: int | None = None
    webhook_id: str | None = None
    webhook: str | None = Field(default=None, description="Its name; told to admins only.")
    at: Instant | None = Field(default=None, description="Since when, or when it will be.")
    detail: str = Field(description="What it means, as text.")


class JobOverview(JobView):
    """A job as it last reported itself, and its last hour."""

    history: History


class StreamOverview(Answer):
    """A stream with its jobs."""

    name: str
    epoch: int
    allowed_delay_ms: int
    rules: dict[OrNewer[State], int] = Field(description="How many processors are in which state.")
    jobs: list[JobOverview]


class Overview(Answer):
    """The whole overview."""

    at: Instant = Field(description="Now, by the clock of the service.")
    streams: list[StreamOverview]
    attention: list[AttentionItem] = Field(description="The most urgent first.")
    quarantined: int = Field(description="How many versions are, in jobs that have not stopped.")
    attention_left_out: int = Field(description="How many items more there are.")
    jobs_left_out: int = Field(description="How many jobs more there are; running ones go first.")

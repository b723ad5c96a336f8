"""Backtests, asked for and told of."""

from typing import Annotated, Any, Literal

from pydantic import Field

from cep.definition.document import ProcessorId
from cep.instants import GivenInstant, Instant
from contract.backtests import BacktestReport, WorkerName
from contract.service.bases import Answer, OrNewer, Request

BacktestState = Literal["queued", "running", "done", "failed", "cancelled"]
Version = Annotated[int, Field(ge=1, lt=2**31)]


class BacktestRequest(Request):
    """What to run over the events of the past: a version of a rule, or a document that is none."""

    processor_id: ProcessorId | None = Field(
        default=None, description="The rule; left out where `document` is given."
    )
    version: Version | None = Field(
        default=None, description="Which version of it; left out = the current one."
    )
    document: dict[str, Any] | None = Field(
        default=None, description="A processor document that need not be published, with its `id`."
    )
    against: Literal["published"] | Version | None = Field(
        default=None,
        description="The version to compare with: a number, or what is published now, if anything.",
    )
    since: GivenInstant | None = Field(default=None, description="Only events from this time on.")
    until: GivenInstant | None = Field(default=None, description="Only events before this time.")
    closes_windows: bool = Field(
        default=True,
        strict=True,
        description="Whether windows that are open after the last event are closed.",
    )
    takes_labels: bool = Field(
        default=True,
        strict=True,
        description="Whether matches are scored by what people decided about matches of the rule.",
    )


class BacktestSummary(Answer):
    """One backtest; numbers count up over all streams."""

    number: int
    stream: str
    processor_id: str
    version: int | None = Field(description="Null = a document that is no version.")
    content_hash: str = Field(description="Equal for documents that say the same.")
    against_version: int | None
    since: Instant | None
    until: Instant | None
    closes_windows: bool
    takes_labels: bool
    state: OrNewer[BacktestState]
    created_at: Instant
    created_by: str
    started_at: Instant | None
    ended_at: Instant | None
    worker: str = Field(description="Which runs it, or has run it.")
    events_done: int
    events_total: int = Field(description="While it runs, both versions count; 0 = not known yet.")
    matches: int | None
    gained: int | None = Field(description="Matches that only this version finds.")
    lost: int | None = Field(description="Matches that only the other version finds.")
    error: str

    @property
    def has_ended(self) -> bool:
        """Whether nothing of it changes any more."""
        return self.state not in {"queued", "running"}


class BacktestView(BacktestSummary):
    """One backtest with what it ran, and what it has found."""

    document: dict[str, Any]
    against: dict[str, Any] | None
    report: BacktestReport | None


class WorkerView(Answer):
    """A worker that has asked for backtests of a stream in the last minute."""

    name: WorkerName
    seen_at: Instant


class Workers(Answer):
    """The workers of a stream; without any, backtests wait."""

    workers: list[WorkerView]
